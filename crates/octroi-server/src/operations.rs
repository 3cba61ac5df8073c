//! The handlers of all operations: one for each entry of the table, sorted by subject like the table.

mod activity;
mod agents;
mod approvals;
mod attention;
mod audit;
mod calls;
mod clients;
mod config;
mod context;
mod gateway;
pub(crate) mod handler;
mod health;
mod pins;
mod policies;
mod presets;
mod proposals;
mod secrets;
mod servers;
mod sessions;
mod shape;
mod stats;
mod templates;
mod tokens;
mod tools;
mod users;

use std::sync::LazyLock;

use octroi_api::Face;
use octroi_api::operations as api;

pub(crate) use activity::recent as recent_calls;
pub(crate) use agents::mounts::mounts as agent_mounts;
pub(crate) use agents::{
    all as all_agents, one as agent, session as agent_session, snapshot as agent_snapshot,
    status as agent_status,
};
pub(crate) use approvals::{
    LISTED_MAX, PENDING_MAX, describe as describe_approval, describe_briefly as describe_listed_approval,
};
pub(crate) use attention::list as list_attention;
pub(crate) use audit::describe_record as audit_record;
pub(crate) use clients::list as list_clients;
pub(crate) use context::{OperationContext, Requester};
pub(crate) use gateway::status as gateway_status;
pub(crate) use handler::{Handler, Work};
pub(crate) use health::by_server as health_by_server;
pub(crate) use pins::list as list_pins;
pub(crate) use policies::version as policy_version;
pub(crate) use presets::list as list_presets;
pub(crate) use servers::{
    get_status as server_status, list as list_servers, newest_lines, unknown as unknown_server,
};
pub(crate) use sessions::{list as list_sessions, mcp_config as session_mcp_config};
pub(crate) use templates::list as list_templates;
pub(crate) use tokens::list as list_tokens;
pub(crate) use tools::list as list_tools;
pub(crate) use users::list as list_users;

use handler::{call, change, change_or_preview, changes, read, recorded_by_log};

/// One handler for each operation; a test compares it with the table.
static HANDLERS: LazyLock<Vec<Handler>> = LazyLock::new(|| {
    vec![
        read::<api::servers::ServersList>(servers::list),
        read::<api::servers::ServersGet>(servers::get),
        change::<api::servers::ServersAdd>(servers::add),
        change::<api::servers::ServersUpdate>(servers::update),
        change::<api::servers::ServersDelete>(servers::delete),
        read::<api::servers::ServersHistory>(servers::history),
        change::<api::servers::ServersRollback>(servers::roll_back),
        change::<api::servers::ServersToggle>(servers::toggle),
        change::<api::servers::ServersSwitchMany>(servers::switch_many),
        change::<api::servers::ServersRestart>(servers::restart),
        change::<api::servers::ServersTest>(servers::test),
        change_or_preview::<api::servers::ServersRefresh>(
            servers::start_and_refresh,
            servers::refresh_running,
        ),
        read::<api::servers::ServersLogs>(servers::logs),
        read::<api::templates::TemplatesList>(templates::list),
        read::<api::templates::TemplatesGet>(templates::get),
        read::<api::health::HealthCheckAll>(health::check_all),
        read::<api::gateway::GatewayStatusGet>(gateway::status),
        read::<api::gateway::QuotasList>(gateway::quotas),
        change::<api::config::ConfigReload>(config::reload),
        read::<api::config::ConfigShow>(config::show),
        read::<api::tools::ToolsListCatalog>(tools::list),
        read::<api::tools::ToolsGet>(tools::get),
        call::<api::tools::ToolsCall>(calls::call),
        read::<api::attention::AttentionList>(attention::list),
        read::<api::activity::CallsList>(activity::list),
        read::<api::activity::CallsGet>(activity::get),
        read::<api::clients::ClientsList>(clients::list),
        read::<api::tools::ToolsListOwn>(tools::list_own),
        call::<api::tools::ToolsCallOwn>(calls::call_own),
        change_or_preview::<api::approvals::AgentsDecideRequest>(approvals::decide, approvals::preview),
        change_or_preview::<api::approvals::AgentsApproveRequest>(
            approvals::approve,
            approvals::preview_approval,
        ),
        change_or_preview::<api::approvals::AgentsDenyRequest>(approvals::deny, approvals::preview_denial),
        read::<api::approvals::ApprovalsList>(approvals::list),
        read::<api::approvals::ApprovalsGet>(approvals::get),
        change::<api::approvals::ApprovalsReveal>(approvals::reveal),
        read::<api::approvals::ApprovalsContext>(approvals::context),
        read::<api::approvals::ApprovalsCheckArguments>(approvals::check_arguments),
        changes::<api::approvals::ApprovalsDecideMany, _, _>(approvals::decide_many, approvals::decided_many),
        change::<api::approvals::ApprovalsForgetRule>(approvals::forget_rule),
        read::<api::pins::PinsList>(pins::list),
        change::<api::pins::PinsAccept>(pins::accept),
        change::<api::pins::PinsReject>(pins::reject),
        change::<api::pins::PinsForget>(pins::forget),
        read::<api::pins::PinsLock>(pins::lock),
        read::<api::pins::PinsHistory>(pins::history),
        read::<api::agents::AgentsList>(agents::list),
        read::<api::agents::AgentsGet>(agents::get),
        change::<api::agents::AgentsCreate>(agents::create),
        change::<api::agents::AgentsUpdate>(agents::update),
        change::<api::agents::SpecsFreeze>(agents::freeze_spec),
        change::<api::agents::AgentsStop>(agents::stop),
        change::<api::agents::AgentsBoot>(agents::boot),
        change::<api::agents::AgentsAbort>(agents::abort),
        change::<api::agents::AgentsDelete>(agents::delete),
        read::<api::agents::AgentsGetMcpConfig>(agents::mounts::get),
        change::<api::agents::AgentsAttachServer>(agents::mounts::attach),
        change::<api::agents::AgentsDetachServer>(agents::mounts::detach),
        change::<api::agents::AgentsUpdateMcpConfig>(agents::mounts::update),
        read::<api::sessions::SessionsList>(sessions::list),
        read::<api::sessions::SessionsGet>(sessions::get),
        change::<api::sessions::SessionsCreate>(sessions::create),
        change::<api::sessions::SessionsClose>(sessions::close),
        read::<api::sessions::SessionsGetMcpConfig>(sessions::get_mcp_config),
        change::<api::sessions::SessionsSetMcpConfig>(sessions::set_mcp_config),
        read::<api::presets::PresetsList>(presets::list),
        read::<api::users::UsersList>(users::list),
        change::<api::users::UsersAdd>(users::add),
        change::<api::users::UsersInvite>(users::invite),
        change::<api::users::UsersUpdate>(users::update),
        change::<api::users::UsersRemove>(users::remove),
        read::<api::tokens::TokensList>(tokens::list),
        change::<api::tokens::TokensCreate>(tokens::create),
        change::<api::tokens::TokensRotate>(tokens::rotate),
        change::<api::tokens::TokensRevoke>(tokens::revoke),
        change::<api::tokens::TokensSignInCode>(tokens::sign_in_code),
        read::<api::secrets::SecretsList>(secrets::list),
        change::<api::secrets::SecretsSet>(secrets::set),
        change::<api::secrets::SecretsRemove>(secrets::remove),
        change::<api::policies::AgentsSetPolicy>(policies::set_for_agent),
        change::<api::policies::PolicySetGlobal>(policies::set_global),
        change::<api::policies::PolicySetFloor>(policies::set_floor),
        read::<api::policies::PolicyShow>(policies::show),
        read::<api::policies::PolicyHistory>(policies::history),
        change::<api::policies::PolicyRollback>(policies::rollback),
        read::<api::policies::PolicyCheckSource>(policies::check),
        read::<api::policies::PolicyTest>(policies::test),
        read::<api::policies::PolicyWhy>(policies::why),
        read::<api::policies::PolicyExplain>(policies::explain),
        read::<api::policies::PolicyReplay>(policies::replay),
        read::<api::policies::PolicySchema>(policies::schema),
        read::<api::proposals::PolicyProposals>(proposals::list),
        read::<api::proposals::PolicyProposal>(proposals::get),
        change::<api::proposals::AgentsApproveProposal>(proposals::approve),
        change::<api::proposals::AgentsRejectProposal>(proposals::reject),
        change::<api::proposals::PolicyPropose>(proposals::propose),
        change::<api::proposals::PolicyWithdraw>(proposals::withdraw),
        read::<api::proposals::PolicyCheckOwn>(proposals::check),
        read::<api::audit::AuditQuery>(audit::query),
        read::<api::audit::AuditShow>(audit::show),
        read::<api::audit::AuditVerify>(audit::verify),
        recorded_by_log::<api::audit::AuditPurge>(audit::purge),
        read::<api::audit::AuditReport>(audit::report),
        read::<api::audit::AuditProve>(audit::prove),
        read::<api::audit::AuditExport>(audit::export),
        read::<api::stats::CallsStats>(stats::calls),
    ]
});

/// The handler of an operation at a face. `policy_check` has one handler for agents and another for people.
pub(crate) fn find(face: Face, name: &str) -> Option<&'static Handler> {
    HANDLERS.iter().find(|handler| handler.name == name && handler.access.has_face(face))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_has_one_handler() {
        for face in Face::ALL {
            let declared = api::all().filter(|entry| entry.has_face(face)).map(|entry| entry.name);
            let handled =
                HANDLERS.iter().filter(|handler| handler.access.has_face(face)).map(|handler| handler.name);
            assert_eq!(handled.collect::<Vec<_>>(), declared.collect::<Vec<_>>(), "{face:?}");
        }
        assert_eq!(HANDLERS.len(), api::all().count());
    }

    #[test]
    fn operations_are_found_by_who_asks() {
        for (face, name, is_found) in [
            (Face::Management, "servers_list", true),
            (Face::Agent, "servers_list", false),
            (Face::Management, "policy_propose", false),
            (Face::Agent, "policy_propose", true),
            (Face::Management, "policy_check", true),
            (Face::Agent, "policy_check", true),
            (Face::Management, "", false),
        ] {
            assert_eq!(find(face, name).is_some(), is_found, "{face:?} {name}");
        }
        // Access is part of the lookup, so it distinguishes the two operations of this name.
        let of = |face| find(face, "policy_check").map(|handler| handler.access);
        assert_ne!(of(Face::Management), of(Face::Agent));
    }
}
