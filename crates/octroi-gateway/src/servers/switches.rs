//! What people decided about servers: `octroi enable`, `octroi disable`, and the first yes that a server with low trust
//! waits for.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use octroi_core::server::ServerSpec;
use octroi_core::trust::Trust;
use octroi_core::{ServerKey, SwitchedOff};
use octroi_store::ServerRecord;

/// A server that somebody enabled or disabled.
#[derive(Clone, Debug)]
pub(super) struct OperatorSwitch {
    pub(super) is_enabled: bool,
    /// Who; `None` if an older version did not store it.
    pub(super) by: Option<Arc<str>>,
}

/// All decisions of people about servers.
#[derive(Debug, Default)]
pub(super) struct Switches {
    by_operator: HashMap<ServerKey, OperatorSwitch>,
    /// Servers that an admin has said yes to.
    agreed: HashSet<ServerKey>,
}

impl Switches {
    /// The decisions of earlier runs.
    pub(super) fn of_records(records: Vec<ServerRecord>) -> Self {
        let mut switches = Self::default();
        for record in records {
            if record.is_agreed {
                switches.agreed.insert(record.key.clone());
            }
            if let Some(is_enabled) = record.enabled_override {
                let by = record.switched_by.map(Arc::from);
                switches.by_operator.insert(record.key, OperatorSwitch { is_enabled, by });
            }
        }
        switches
    }

    /// Notes that somebody switched a server. Enabling it is a yes to it.
    pub(super) fn switch(&mut self, key: &ServerKey, switch: OperatorSwitch) {
        if switch.is_enabled {
            self.agreed.insert(key.clone());
        }
        self.by_operator.insert(key.clone(), switch);
    }

    /// Notes a yes; returns whether it is the first one.
    pub(super) fn agree(&mut self, key: &ServerKey) -> bool {
        self.agreed.insert(key.clone())
    }

    pub(super) fn forget(&mut self, key: &ServerKey) {
        self.by_operator.remove(key);
        self.agreed.remove(key);
    }

    /// What keeps a configured server off, besides the switch of all servers.
    pub(super) fn switched_off(&self, spec: &ServerSpec) -> Option<SwitchedOff> {
        match self.by_operator.get(&spec.key) {
            Some(OperatorSwitch { is_enabled: true, .. }) => return None,
            Some(OperatorSwitch { is_enabled: false, by }) => {
                return Some(SwitchedOff::Operator { by: by.clone() });
            }
            None => {}
        }
        let waits = || spec.trust == Trust::Low && !self.agreed.contains(&spec.key);
        spec.switched_off.clone().or_else(|| waits().then_some(SwitchedOff::Trust))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use octroi_core::ServerName;
    use octroi_core::server::{Remote, Transport};

    use super::*;

    fn spec(trust: Trust, switched_off: Option<SwitchedOff>) -> ServerSpec {
        let key = ServerKey::system(ServerName::parse("tracker").unwrap());
        let remote = Remote { url: "https://tracker.example/mcp".to_owned(), headers: BTreeMap::new() };
        ServerSpec { trust, switched_off, ..ServerSpec::new(key, Transport::Http(remote)) }
    }

    #[test]
    fn the_first_switch_that_says_no_is_named() {
        let operator = |is_enabled| Some(OperatorSwitch { is_enabled, by: Some("ada".into()) });
        let by_ada = || Some(SwitchedOff::Operator { by: Some("ada".into()) });
        let (entry, trust) = (|| Some(SwitchedOff::Entry), || Some(SwitchedOff::Trust));
        for (trust_level, in_file, switch, is_agreed, expected) in [
            (Trust::Medium, None, None, false, None),
            (Trust::High, None, None, false, None),
            (Trust::Medium, entry(), None, false, entry()),
            (Trust::Medium, entry(), operator(true), false, None),
            (Trust::Medium, None, operator(false), false, by_ada()),
            (Trust::Low, None, None, false, trust()),
            (Trust::Low, None, None, true, None),
            (Trust::Low, None, operator(true), false, None),
            (Trust::Low, None, operator(false), true, by_ada()),
            (Trust::Low, entry(), None, true, entry()),
            (Trust::Low, trust(), None, true, trust()),
            (Trust::Low, trust(), operator(true), false, None),
        ] {
            let spec = spec(trust_level, in_file.clone());
            let mut switches = Switches::default();
            if let Some(switch) = switch.clone() {
                switches.switch(&spec.key, switch);
            }
            if is_agreed {
                switches.agree(&spec.key);
            }
            let found = switches.switched_off(&spec);
            assert_eq!(found, expected, "{trust_level:?} {in_file:?} {switch:?} {is_agreed}");
        }
    }

    #[test]
    fn enabling_is_a_yes_that_outlives_the_switch() {
        let spec = spec(Trust::Low, None);
        let mut switches = Switches::default();
        switches.switch(&spec.key, OperatorSwitch { is_enabled: true, by: None });
        assert!(!switches.agree(&spec.key), "it was agreed to");
        switches.forget(&spec.key);
        assert_eq!(
            switches.switched_off(&spec),
            Some(SwitchedOff::Trust),
            "a new one of the same name waits"
        );
    }
}
