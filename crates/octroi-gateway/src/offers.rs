//! What people choose from: templates of servers, presets of agents, and what members may do with servers.

use std::sync::Arc;

use arc_swap::ArcSwap;
use octroi_api::ResourceChange;
use octroi_core::config::MembersSection;
use octroi_core::preset::PresetCatalogue;
use octroi_core::template::TemplateCatalogue;
use octroi_upstream::Context;

use crate::subscriptions::Subscriptions;

/// What people choose from.
pub struct Offers {
    context: Arc<Context>,
    subscriptions: Arc<Subscriptions>,
    members: ArcSwap<MembersSection>,
    templates: ArcSwap<TemplateCatalogue>,
    presets: ArcSwap<PresetCatalogue>,
}

impl Offers {
    pub(crate) fn new(context: &Arc<Context>, subscriptions: &Arc<Subscriptions>) -> Self {
        Self {
            context: Arc::clone(context),
            subscriptions: Arc::clone(subscriptions),
            members: ArcSwap::default(),
            templates: ArcSwap::from_pointee(TemplateCatalogue::new(Vec::new(), Vec::new())),
            presets: ArcSwap::default(),
        }
    }

    /// Sets what users who are no administrators may do with servers.
    pub fn set_members(&self, members: MembersSection) {
        self.context.http.allow_hosts(members.allowed_hosts());
        self.members.store(Arc::new(members));
    }

    /// What users who are no administrators may do with servers.
    pub fn members(&self) -> Arc<MembersSection> {
        self.members.load_full()
    }

    /// Sets the templates and presets that there are, and announces them if they are others.
    pub fn set_catalogues(&self, templates: TemplateCatalogue, presets: PresetCatalogue) {
        if **self.templates.load() != templates {
            self.templates.store(Arc::new(templates));
            self.subscriptions.announce(&ResourceChange::Templates);
        }
        if **self.presets.load() != presets {
            self.presets.store(Arc::new(presets));
            self.subscriptions.announce(&ResourceChange::Presets);
        }
    }

    /// The templates.
    pub fn templates(&self) -> Arc<TemplateCatalogue> {
        self.templates.load_full()
    }

    /// The presets.
    pub fn presets(&self) -> Arc<PresetCatalogue> {
        self.presets.load_full()
    }

    /// Files of templates and presets that cannot be used.
    pub(crate) fn problems(&self) -> Vec<String> {
        let (templates, presets) = (self.templates.load(), self.presets.load());
        templates.problems.iter().chain(&presets.problems).cloned().collect()
    }
}
