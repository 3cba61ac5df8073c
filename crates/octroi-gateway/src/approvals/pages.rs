//! The addresses of the pages for people.

use std::sync::Arc;

use super::Approvals;
use crate::caller::Caller;

/// Where people reach the approval pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PageBase {
    /// As the configuration says.
    Configured(String),
    /// Where Octroi listens; a proxy in front of it may know better.
    Listening(String),
}

impl Approvals {
    /// Sets the base URL of the pages for people, once it is known.
    pub fn set_page(&self, page: PageBase) {
        self.page.store(Some(Arc::new(page)));
    }

    /// The address of the page about an approval, as the client of this caller reaches it.
    pub(super) fn page_for(&self, caller: &Caller, id: &str) -> Option<String> {
        let page = self.page.load();
        let base = match (page.as_deref()?, &caller.base) {
            (PageBase::Configured(base), _) | (PageBase::Listening(base), None) => base,
            (PageBase::Listening(_), Some(base)) => &**base,
        };
        Some(format!("{base}/approvals/{id}"))
    }

    /// The base URL of the pages for people, once it is known.
    pub fn page(&self) -> Option<String> {
        self.page.load().as_deref().map(|base| match base {
            PageBase::Configured(base) | PageBase::Listening(base) => base.clone(),
        })
    }

    /// The address of the page of an approval, once Octroi listens.
    pub fn page_of(&self, id: &str) -> Option<String> {
        self.page().map(|base| format!("{base}/approvals/{id}"))
    }

    /// The address of the page where an invitation is accepted, once Octroi listens.
    pub fn invitation_page(&self, code: &str) -> Option<String> {
        self.page().map(|base| format!("{base}/invitations/{code}"))
    }
}
