//! Names of `_meta` members that the protocol reserves.

/// The prefix of the protocol's own members.
pub const PREFIX: &str = "io.modelcontextprotocol/";
/// The version of a modern request.
pub const PROTOCOL_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The client of a modern request.
pub const CLIENT_INFO: &str = "io.modelcontextprotocol/clientInfo";
/// The capabilities of a modern request's sender.
pub const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The minimum level of log messages for a modern request.
pub const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The server of a modern result.
pub const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// The listen request that a notification belongs to.
pub const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";
/// Requests progress notifications.
pub const PROGRESS_TOKEN: &str = "progressToken";
