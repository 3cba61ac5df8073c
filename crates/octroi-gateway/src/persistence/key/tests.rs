use super::*;

fn known(key: &MasterKey, n_secrets: u64) -> KnownKey {
    KnownKey { key_id: key.id(), n_secrets }
}

fn find(directory: &Path, known: Option<&KnownKey>) -> Result<Option<MasterKey>, StoreError> {
    KeyOrigin::Directory.find(directory, known, OnLoss::Refuse)
}

#[test]
fn a_key_is_made_once_and_kept_private() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FILE);
    let key = find(directory.path(), None).unwrap().unwrap();
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(find(directory.path(), None).unwrap(), Some(key.clone()));
    fs::remove_file(&file).unwrap();
    assert_ne!(find(directory.path(), None).unwrap(), Some(key), "random");
    // What is there is never overwritten.
    fs::write(&file, "no key").unwrap();
    assert_eq!(find(directory.path(), None).unwrap(), None);
    assert_eq!(fs::read_to_string(&file).unwrap(), "no key");
}

/// Without stored secrets nothing is lost but what waits.
#[test]
fn no_other_key_is_taken_while_secrets_are_stored() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(FILE);
    let (old, other) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
    let lost = format!("{} has no usable key", file.display());
    let is_other = format!("{} is not the key", file.display());
    for (content, message) in
        [(None, &lost), (Some("no key".to_owned()), &lost), (Some(other.to_text()), &is_other)]
    {
        let _ = fs::remove_file(&file);
        if let Some(content) = &content {
            fs::write(&file, content).unwrap();
        }
        let refused = find(directory.path(), Some(&known(&old, 1))).unwrap_err().to_string();
        assert!(refused.starts_with(message.as_str()), "{refused}");
        assert_eq!(fs::read_to_string(&file).ok(), content, "nothing was changed");
        find(directory.path(), Some(&known(&old, 0))).unwrap();
        let accepted = KeyOrigin::Directory.find(directory.path(), Some(&known(&old, 1)), OnLoss::Accept);
        assert!(accepted.is_ok());
    }
}

#[test]
fn what_the_configuration_names_has_to_fit() {
    let directory = tempfile::tempdir().unwrap();
    let (old, other) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
    let file = directory.path().join("elsewhere");
    let origin = KeyOrigin::File(file.clone());
    let find = |known: Option<&KnownKey>, on_loss| origin.find(Path::new("/nowhere"), known, on_loss);
    let made = find(None, OnLoss::Refuse).unwrap().unwrap();
    assert_eq!(find(Some(&known(&made, 0)), OnLoss::Refuse).unwrap(), Some(made));
    assert!(matches!(find(Some(&known(&old, 0)), OnLoss::Refuse), Err(StoreError::OtherKey { .. })));
    assert!(find(Some(&known(&old, 0)), OnLoss::Accept).unwrap().is_some());
    fs::write(&file, "no key").unwrap();
    assert!(matches!(find(None, OnLoss::Refuse), Err(StoreError::LostKey { .. })));
    let given = KeyOrigin::Environment(old.clone());
    for (known_key, is_taken) in [(None, true), (Some(known(&old, 3)), true), (Some(known(&other, 0)), false)]
    {
        let found = given.find(directory.path(), known_key.as_ref(), OnLoss::Refuse);
        assert_eq!(found.is_ok(), is_taken, "{known_key:?}");
    }
    let refused = given.find(directory.path(), Some(&known(&other, 0)), OnLoss::Refuse).unwrap_err();
    assert!(refused.to_string().starts_with("OCTROI_MASTER_KEY is not the key"), "{refused}");
}

#[test]
fn a_change_that_was_cut_off_is_completed_or_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
    let (file, next) = KeyOrigin::Directory.files(directory.path()).unwrap();
    for (in_use, is_kept) in [(&old, true), (&new, false)] {
        write(&file, &old).unwrap();
        write(&next, &new).unwrap();
        assert_eq!(find(directory.path(), Some(&known(in_use, 1))).unwrap().as_ref(), Some(in_use));
        let kept = if is_kept { &old } else { &new };
        assert_eq!(MasterKey::parse(&fs::read_to_string(&file).unwrap()).as_ref(), Some(kept));
        assert!(!next.exists());
    }
    // A file that was only half written is no key.
    write(&file, &old).unwrap();
    fs::write(&next, "0202").unwrap();
    assert_eq!(find(directory.path(), Some(&known(&old, 1))).unwrap(), Some(old));
}

#[test]
fn commands_that_encrypt_nothing_make_no_key() {
    let directory = tempfile::tempdir().unwrap();
    let (old, other) = (MasterKey::new([1; 32]), MasterKey::new([2; 32]));
    let find =
        |known: &KnownKey| KeyOrigin::IfThere.find(directory.path(), Some(known), OnLoss::Refuse).unwrap();
    assert_eq!(find(&known(&old, 1)), None);
    assert!(!directory.path().join(FILE).exists());
    write(&directory.path().join(FILE), &old).unwrap();
    assert_eq!(find(&known(&old, 1)), Some(old));
    assert_eq!(find(&known(&other, 1)), None);
}
