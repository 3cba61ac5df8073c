//! How records name a client's session.

use sha2::{Digest as _, Sha256};

/// The bytes of the hash that a name consists of: enough to tell sessions apart.
const LENGTH: usize = 8;

/// The name of a session in records. The id of a session opens it to whoever has its token too, so records have only
/// the beginning of a hash.
pub fn session_name(session: &str) -> String {
    let hash = Sha256::new().chain_update("octroi session\n").chain_update(session).finalize();
    hex::encode(&hash[..LENGTH])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_a_name_of_its_own_that_does_not_contain_it() {
        let names = ["agent:a/1", "agent:a/2", "agent:b/1"].map(session_name);
        assert_eq!(names[0], "d804bfeff25676a4");
        assert!(names.iter().all(|name| name.len() == 16 && !name.contains('/')));
        assert!(names[0] != names[1] && names[0] != names[2] && names[1] != names[2]);
    }
}
