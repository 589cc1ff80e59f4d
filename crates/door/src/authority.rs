//! The certificate authority of a run. Its key lives in memory and ends with the run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::way::DoorError;

/// The most certificates that are kept: a room can ask for any name.
const MOST_LEAVES: usize = 4096;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) struct Authority {
    /// Its certificate, in PEM.
    pub(crate) certificate: String,
    issuer: Issuer<'static, KeyPair>,
    /// The key of every leaf.
    key: KeyPair,
    leaves: Mutex<HashMap<String, Arc<ServerConfig>>>,
}

impl Authority {
    pub(crate) fn new() -> Result<Self, DoorError> {
        let own = KeyPair::generate()?;
        let mut params = CertificateParams::default();
        valid_now(&mut params);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name = named("skill-evals, this run only");
        let certificate = params.self_signed(&own)?.pem();
        let key = KeyPair::generate()?;
        Ok(Self { certificate, issuer: Issuer::new(params, own), key, leaves: Mutex::default() })
    }

    /// What a server of this name shows.
    pub(crate) fn leaf(&self, host: &str) -> Result<Arc<ServerConfig>, DoorError> {
        let mut leaves = self.leaves.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(leaf) = leaves.get(host) {
            return Ok(Arc::clone(leaf));
        }
        let leaf = Arc::new(self.sign(host)?);
        if leaves.len() == MOST_LEAVES {
            leaves.clear();
        }
        leaves.insert(host.to_owned(), Arc::clone(&leaf));
        Ok(leaf)
    }

    fn sign(&self, host: &str) -> Result<ServerConfig, DoorError> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        valid_now(&mut params);
        params.distinguished_name = named("skill-evals");
        params.use_authority_key_identifier_extension = true;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let certificate = params.signed_by(&self.key, &self.issuer)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(self.key.serialize_der()));
        let config = ServerConfig::builder().with_no_client_auth();
        let mut config = config.with_single_cert(vec![certificate.der().clone()], key)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut names = DistinguishedName::new();
    names.push(DnType::CommonName, name);
    names
}

/// From yesterday, since clocks differ, for a month: no run is longer.
fn valid_now(params: &mut CertificateParams) {
    let now = SystemTime::now();
    params.not_before = (now - DAY).into();
    params.not_after = (now + 30 * DAY).into();
}
