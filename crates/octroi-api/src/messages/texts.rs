//! The texts of every error code.

use crate::error::ErrorCode as Code;

/// The texts of one code. English messages and hints are those of the table of errors, unless another one is here.
pub(super) struct Row {
    pub(super) code: Code,
    /// English, Chinese.
    pub(super) title: [&'static str; 2],
    pub(super) english: Option<&'static str>,
    /// The message, and the hint.
    pub(super) chinese: [&'static str; 2],
}

const fn row(code: Code, title: [&'static str; 2], message: &'static str, hint: &'static str) -> Row {
    Row { code, title, english: None, chinese: [message, hint] }
}

const fn friendly(row: Row, english: &'static str) -> Row {
    Row { english: Some(english), ..row }
}

/// Messages that differ where a request is about a server: English, Chinese.
pub(super) static OF_SERVERS: [(Code, [&str; 2]); 4] = [
    (Code::AdminsOnly, ["You have no permission for this server.", "无权限操作此服务器"]),
    (Code::PeopleOnly, ["You have no permission for this server.", "无权限操作此服务器"]),
    (Code::ManagedByFile, ["You have no permission for this server.", "无权限操作此服务器"]),
    (Code::NotFound, ["The server does not exist.", "服务器不存在"]),
];

/// In the order of the table of errors.
pub(super) static TEXTS: [Row; 58] = [
    row(
        Code::PolicyDenied,
        ["Denied by policy", "策略拒绝"],
        "调用被关卡、策略或人员拒绝，智能体应当停止",
        "用 `octroi policy why` 查看原因",
    ),
    row(
        Code::PolicyDeniedContinue,
        ["Denied by policy", "策略拒绝"],
        "调用被关卡、策略或人员拒绝，智能体可以继续做其他事情",
        "用 `octroi policy why` 查看原因",
    ),
    row(
        Code::PolicyBackendReservedMisuse,
        ["Reserved error code", "误用保留错误码"],
        "服务器返回了只有 Octroi 才能使用的错误码，这不是 Octroi 的决定",
        "用 `octroi logs NAME` 查看服务器日志",
    ),
    row(
        Code::PolicyEvaluatorError,
        ["Policy not evaluated", "策略无法评估"],
        "策略或关卡无法评估，因此未执行调用",
        "`octroi status` 显示问题和自定义关卡，网关日志有更多信息",
    ),
    row(
        Code::Busy,
        ["Server busy", "服务器繁忙"],
        "对此服务器的并发调用过多",
        "稍后重试，或提高该服务器条目的 `max_concurrency`",
    ),
    row(
        Code::QuotaExceeded,
        ["Quota exceeded", "超出配额"],
        "配额已用完",
        "稍后重试；配额在 [[quotas]] 中配置",
    ),
    row(
        Code::LimitExceeded,
        ["Limit exceeded", "超出限制"],
        "调用方对 Octroi 的使用超出限制：连接、会话、订阅或审批",
        "稍后重试，或提高限制；见 docs/limits.md",
    ),
    row(
        Code::ApprovalPending,
        ["Waiting for approval", "等待审批"],
        "调用正在等待审批，尚未执行任何操作",
        "用 `octroi approve ID` 批准，然后重新发出相同的调用",
    ),
    row(
        Code::ApprovalExpired,
        ["Approval expired", "审批已过期"],
        "没有人及时决定，因此未执行调用",
        "重新调用以请求新的审批",
    ),
    row(
        Code::ApprovalUnusable,
        ["Approval no longer valid", "审批已失效"],
        "审批对此调用不再有效：已被使用，或者工具、策略已更改",
        "重新调用以请求新的审批",
    ),
    row(Code::ToolNotFound, ["Unknown tool", "未知工具"], "工具不存在", "`octroi tools` 列出所有工具"),
    row(
        Code::ToolAmbiguous,
        ["Ambiguous tool name", "工具名称不明确"],
        "该名称对应多个工具",
        "写成 `server.tool`",
    ),
    row(
        Code::ToolDisabled,
        ["Tool switched off", "工具已停用"],
        "该工具或其服务器已停用",
        "用 `octroi enable NAME` 启用服务器，或查看其条目的 `tools_override`",
    ),
    row(
        Code::ToolChangedNeedsReview,
        ["Tool needs review", "工具待复核"],
        "工具定义已更改，在人员复核之前被隔离",
        "用 `octroi pins` 查看差异",
    ),
    row(
        Code::ToolExecutionError,
        ["Tool failed", "工具执行失败"],
        "工具已运行并报告错误",
        "查看工具的错误信息",
    ),
    row(Code::PromptNotFound, ["Unknown prompt", "未知提示词"], "提示词不存在", "列出提示词"),
    row(
        Code::ResourceNotFound,
        ["Unknown resource", "未知资源"],
        "资源不存在，或属于其他智能体",
        "列出资源和模板",
    ),
    friendly(
        row(
            Code::ServerUnavailable,
            ["Connection failed", "连接失败"],
            "连接失败：{details}",
            "查看 `octroi status` 和 `octroi logs NAME`；其他服务器不受影响",
        ),
        "The connection failed: {details}",
    ),
    row(
        Code::NeedsAuth,
        ["Sign-in needed", "需要登录"],
        "服务器需要其他凭据",
        "检查该服务器条目的 `headers`",
    ),
    friendly(
        row(
            Code::CallTimeout,
            ["Timed out", "超时"],
            "连接超时，请检查服务器地址",
            "如果需要更长时间，请提高该服务器条目的 `timeout`；若它报告进度，请提高 `max_call_timeout`",
        ),
        "The connection timed out; check the address of the server.",
    ),
    row(
        Code::OutcomeUnknown,
        ["Outcome unknown", "结果未知"],
        "调用期间连接中断，调用可能已生效，也可能未生效",
        "再次调用之前请先检查",
    ),
    row(
        Code::ResultTooLarge,
        ["Result too large", "结果过大"],
        "服务器的回答超过允许的大小",
        "减少请求的内容，或提高该服务器条目的 `max_message_bytes`",
    ),
    row(
        Code::InvalidArguments,
        ["Invalid arguments", "参数无效"],
        "参数类型正确但值无效，或与工具的模式不符",
        "查看工具的输入模式",
    ),
    row(Code::InvalidParams, ["Invalid request", "请求无效"], "参数缺失、未知或类型错误", "按照说明更正"),
    row(
        Code::Unauthenticated,
        ["Sign-in needed", "需要登录"],
        "令牌缺失或未知",
        "以 `Authorization: Bearer TOKEN` 发送有效令牌",
    ),
    row(
        Code::Forbidden,
        ["Not allowed", "不允许"],
        "请求的 Host 或 Origin 不被允许",
        "见配置中 [server] 的 `allowed_hosts` 和 `allowed_origins`",
    ),
    row(
        Code::PeopleOnly,
        ["People only", "仅限人员"],
        "只有人员可以这样做，而该令牌属于智能体",
        "使用人员的令牌",
    ),
    row(
        Code::AdminsOnly,
        ["Administrators only", "仅限管理员"],
        "只有管理员可以这样做，而该令牌属于普通成员",
        "请联系管理员",
    ),
    row(
        Code::NotAnApprover,
        ["Not an approver", "无审批权"],
        "规则规定了谁可以决定此调用，而调用方不在其中",
        "请联系规则指定的人员",
    ),
    row(Code::NotFound, ["Not found", "不存在"], "对象不存在，或属于他人", "列出现有对象"),
    row(Code::Conflict, ["Conflict", "冲突"], "冲突：对象在读取之后已被更改或决定", "请重新查看"),
    row(Code::LimitReached, ["Limit reached", "达到上限"], "已达到最大数量", "请先删除一个"),
    row(
        Code::ManagedByFile,
        ["Managed by a file", "由文件管理"],
        "此项在配置文件中设置，不能在此更改",
        "修改文件；运行中的网关会自动重新加载",
    ),
    row(
        Code::InvalidPolicy,
        ["Invalid policy", "策略无效"],
        "策略无效",
        "`octroi policy check FILE` 列出错误",
    ),
    row(
        Code::InvalidConfig,
        ["Invalid configuration", "配置无效"],
        "配置无效，旧配置继续有效",
        "`octroi config check` 列出错误",
    ),
    row(
        Code::AuditUnavailable,
        ["Audit log unavailable", "审计日志不可用"],
        "无法写入审计记录，因此未执行任何操作",
        "检查数据目录所在的磁盘和网关日志",
    ),
    row(
        Code::StorageUnavailable,
        ["Store unavailable", "存储不可用"],
        "存储无法使用，或此网关没有存储",
        "检查数据目录和网关日志；`octroi up` 带有存储",
    ),
    row(
        Code::TaskLost,
        ["Task lost", "任务丢失"],
        "任务的调用在重启后未能保留",
        "在审计日志中查看其结果，然后再次调用",
    ),
    row(
        Code::GatewayGone,
        ["Gateway stopped", "网关已停止"],
        "`octroi stdio` 背后的网关已停止",
        "用 `octroi up` 重新启动",
    ),
    row(
        Code::SubscribeUnsupported,
        ["No subscriptions", "不支持订阅"],
        "服务器不报告此资源的更改",
        "改为再次读取",
    ),
    row(
        Code::UnsubscribeUnsupported,
        ["No subscriptions", "不支持订阅"],
        "服务器不报告此资源的更改，因此没有可结束的订阅",
        "无需任何操作",
    ),
    row(
        Code::UnsupportedProtocolVersion,
        ["Unsupported protocol version", "不支持的协议版本"],
        "不支持该协议版本",
        "使用错误中列出的版本之一",
    ),
    row(Code::InternalError, ["Internal error", "内部错误"], "意外的内部错误", "查看网关日志"),
    row(Code::ParseError, ["Not JSON", "不是 JSON"], "请求正文不是 JSON", "以 UTF-8 发送一个 JSON 文档"),
    row(Code::InvalidRequest, ["Invalid request", "请求无效"], "此处的协议不允许该请求", "按照说明更正"),
    row(
        Code::MethodNotFound,
        ["Unknown method", "未知方法"],
        "方法不存在，或没有服务器提供",
        "使用已声明的方法",
    ),
    row(
        Code::HeaderMismatch,
        ["Header mismatch", "请求头不一致"],
        "请求头与正文矛盾",
        "发送协议由正文推导出的请求头",
    ),
    row(
        Code::MissingCapability,
        ["Missing capability", "缺少能力"],
        "请求需要客户端未声明的能力",
        "如果客户端具备这些能力，请声明",
    ),
    row(
        Code::PathNotFound,
        ["Nothing here", "路径不存在"],
        "网关在此路径上没有任何内容",
        "MCP 端点是 /mcp，REST 接口见 /api/openapi.json",
    ),
    row(
        Code::SessionNotFound,
        ["Unknown session", "会话不存在"],
        "会话已结束，或属于其他令牌",
        "用 `initialize` 开始新的会话",
    ),
    row(
        Code::UnsupportedMediaType,
        ["Unsupported media type", "不支持的媒体类型"],
        "正文声明为 JSON 以外的类型",
        "发送 `Content-Type: application/json`",
    ),
    row(
        Code::RequestTooLarge,
        ["Request too large", "请求过大"],
        "请求正文超过允许的大小",
        "减少一次发送的内容",
    ),
    row(Code::RequestTooSlow, ["Request too slow", "请求过慢"], "请求没有及时到达", "一次发送整个请求"),
    row(
        Code::TooManyConnections,
        ["Too many connections", "连接过多"],
        "网关的连接数已达上限，最后几个保留给人员",
        "关闭一些连接，或提高 [server] 的 `max_connections`",
    ),
    row(
        Code::MethodNotAllowed,
        ["Method not allowed", "不允许的方法"],
        "该路径只支持其他方法",
        "使用 `Allow` 头中列出的方法之一",
    ),
    row(
        Code::ServerNameExists,
        ["Name taken", "名称已存在"],
        "已有同名的服务器：属于所有者，或由所有人共享",
        "换一个名称；`octroi list` 显示所有服务器",
    ),
    row(
        Code::ServerInUse,
        ["Server in use", "服务器正在使用"],
        "会话或智能体正在使用该服务器，因此未删除",
        "`octroi remove NAME --force` 将其从它们中移除",
    ),
    row(
        Code::ProtectedField,
        ["Protected field", "受保护的字段"],
        "请求设置了不能设置的内容：id、所有者或范围",
        "去掉该字段",
    ),
];
