export const signIn = {
  "sign_in.title": "登录 Octroi",
  "sign_in.about": "在网关所在的机器上运行此命令，它会打开本页面并完成登录。",
  "sign_in.or": "或者使用一次令牌。它会换成此浏览器的会话，不会被保存。",
  "sign_in.token": "令牌",
  "sign_in.submit": "登录",
  "sign_in.working": "正在登录…",
  "sign_in.insecure": "浏览器只为 HTTPS 页面或本机页面保存密钥。",
  "sign_in.insecure_hint": "请通过 http://127.0.0.1 打开界面，或为网关配置证书。",
  "sign_in.ended": "您已退出登录",
  "missing.title": "没有这个页面",
  "missing.back": "前往概览",
} as const;
