//! Finds the verbs of descriptions in Chinese.

use super::verbs::{KnownWord, look_up_verb};

/// Verbs in descriptions in Chinese, which has no spaces between words.
const CHINESE: [(&str, &str); 54] = [
    ("获取", "get"),
    ("查询", "lookup"),
    ("查看", "view"),
    ("查找", "find"),
    ("搜索", "search"),
    ("列出", "list"),
    ("读取", "read"),
    ("检索", "retrieve"),
    ("返回", "return"),
    ("显示", "show"),
    ("计算", "calculate"),
    ("创建", "create"),
    ("新建", "create"),
    ("新增", "add"),
    ("删除", "delete"),
    ("移除", "remove"),
    ("清除", "clear"),
    ("清空", "clear"),
    ("清理", "clear"),
    ("更新", "update"),
    ("修改", "modify"),
    ("编辑", "edit"),
    ("写入", "write"),
    ("添加", "add"),
    ("插入", "insert"),
    ("发送", "send"),
    ("发布", "publish"),
    ("执行", "execute"),
    ("运行", "run"),
    ("上传", "upload"),
    ("支付", "pay"),
    ("转账", "transfer"),
    ("取消", "cancel"),
    ("关闭", "close"),
    ("启动", "start"),
    ("停止", "stop"),
    ("重启", "restart"),
    ("重置", "reset"),
    ("保存", "save"),
    ("替换", "replace"),
    ("覆盖", "overwrite"),
    ("合并", "merge"),
    ("提交", "submit"),
    ("归档", "archive"),
    ("移动", "move"),
    ("重命名", "rename"),
    ("设置", "set"),
    ("标记", "mark"),
    ("修复", "repair"),
    ("部署", "deploy"),
    ("安装", "install"),
    ("撤销", "revoke"),
    ("恢复", "restore"),
    ("生成", "generate"),
];

/// The verbs of the first sentence of a description that begins with one; `None` if it does not.
pub(super) fn chinese_verbs(description: &str) -> Option<Vec<String>> {
    let text = description.trim_start();
    if !CHINESE.iter().any(|(start, _)| text.starts_with(start)) {
        return None;
    }
    let sentence = text.split(['。', '\n']).next().unwrap_or_default();
    let mut verbs = Vec::new();
    for (at, _) in sentence.char_indices() {
        let Some((_, verb)) = CHINESE.iter().find(|(start, _)| sentence[at..].starts_with(start)) else {
            continue;
        };
        // `已删除的文件` is a deleted file.
        let is_participle = sentence[..at].ends_with(['已', '被', '所', '可']);
        let is_first = verbs.is_empty();
        if is_first || !is_participle && look_up_verb(verb).is_some_and(KnownWord::changes_something) {
            verbs.push((*verb).to_owned());
        }
    }
    Some(verbs)
}
