//! Keys and certificates of one cluster: its authority, the API server's, the service account key pair and one
//! client certificate per user. Writes files into the cluster's directory.

use std::{
    fs::{self, OpenOptions},
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose,
    IsCa, KeyPair, KeyUsagePurpose,
};

use crate::{Error, Result, layout::Layout};

const SERVER_NAMES: [&str; 6] = [
    "127.0.0.1",
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    // The first address of the Service range, by which pods reach the API server.
    "10.96.0.1",
];

/// Name of the API server's own key pair.
pub(crate) const API_SERVER: &str = "kube-apiserver";

/// The certificate authority of one cluster.
#[derive(Debug)]
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes the authority, the API server's certificate and the service account key pair.
    pub(crate) fn create(layout: &Layout) -> Result<Self> {
        let pki = layout.pki();
        fs::create_dir_all(&pki).map_err(Error::file("create", &pki))?;
        let failed = |source| Error::Certificate { subject: "the cluster's authority".to_owned(), source };
        let mut params = CertificateParams::default();
        params.distinguished_name = name("pe-app-cluster", None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        write_secret(&layout.ca_key(), &key.serialize_pem())?;
        let issuer = CertifiedIssuer::self_signed(params, key).map_err(failed)?;
        write(&layout.ca(), &issuer.pem())?;
        let authority = Self { issuer };
        authority.issue_server(layout)?;
        write_service_account_keys(layout)?;
        Ok(authority)
    }

    fn issue_server(&self, layout: &Layout) -> Result<()> {
        let names: Vec<String> = SERVER_NAMES.iter().map(ToString::to_string).collect();
        let mut params = CertificateParams::new(names)
            .map_err(|source| Error::Certificate { subject: API_SERVER.to_owned(), source })?;
        params.distinguished_name = name(API_SERVER, None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        self.issue(params, layout.key_pair(API_SERVER), API_SERVER)
    }

    /// Makes a client certificate: the API server takes its common name as user and its organization as group.
    pub(crate) fn issue_client(
        &self,
        user: &str,
        group: Option<&str>,
        files: (PathBuf, PathBuf),
    ) -> Result<()> {
        let mut params = CertificateParams::default();
        params.distinguished_name = name(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(params, files, user)
    }

    fn issue(
        &self,
        mut params: CertificateParams,
        (certificate, key_file): (PathBuf, PathBuf),
        subject: &str,
    ) -> Result<()> {
        let failed = |source| Error::Certificate { subject: subject.to_owned(), source };
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate().map_err(failed)?;
        let signed = params.signed_by(&key, &self.issuer).map_err(failed)?;
        write(&certificate, &signed.pem())?;
        write_secret(&key_file, &key.serialize_pem())
    }
}

fn name(common_name: &str, organization: Option<&str>) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    if let Some(organization) = organization {
        name.push(DnType::OrganizationName, organization);
    }
    name.push(DnType::CommonName, common_name);
    name
}

fn write_service_account_keys(layout: &Layout) -> Result<()> {
    let key = KeyPair::generate()
        .map_err(|source| Error::Certificate { subject: "service accounts".to_owned(), source })?;
    write_secret(&layout.service_account_key(), &key.serialize_pem())?;
    write(&layout.service_account_public_key(), &key.public_key_pem())
}

fn write(path: &Path, content: &str) -> Result<()> {
    fs::write(path, content).map_err(Error::file("write", path))
}

/// Writes a file only its owner may read.
pub(crate) fn write_secret(path: &Path, content: &str) -> Result<()> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(content.as_bytes()))
        .map_err(Error::file("write", path))
}
