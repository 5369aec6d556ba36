//! A bucket of S3, by the paths of its objects. All calls wait for the store.

use isthmus_daemon::Gate;
use isthmus_forward::{Errno, Result};
use isthmus_wire::{Error, install_crypto_provider, random_key};
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, ClientConfigKey, GetOptions, GetRange, ListResult, ObjectMeta,
    ObjectStore, ObjectStoreExt, PutMode, PutMultipartOptions, PutOptions, PutPayload, RetryConfig,
    UpdateVersion,
};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

/// The name of the metadata that has the mark of an upload.
const MARK: &str = "isthmus-upload";

/// Maximum size in bytes of an object that is stored by one request, and size of the parts of others.
const PART_BYTES: u64 = 8 << 20;

/// Maximum number of parts of an object.
const PARTS: u64 = 10_000;

/// Maximum number of parts of an object that are under way at a time.
const PARTS_IN_FLIGHT: usize = 3;

/// Minimum time-out of a request that transfers data or copies an object. Clients that wait for it fail earlier, after
/// the time-out of the store.
const TRANSFER_TIMEOUT_MIN: Duration = Duration::from_secs(300);

/// Time-out of the HTTP client, longer than any request: [`Bucket::try_call`] limits requests.
const CLIENT_TIMEOUT: &str = "1 day";

/// The number of threads that carry requests out.
const THREADS: usize = 2;

/// An object as the store describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub size: u64,
    /// The time of its last change, in s and ns since 1970.
    pub modified: (i64, u32),
    /// Its version: the entity tag, without quotes, which not all stores give with a list.
    pub version: String,
    /// The mark of the upload that has stored it, if a daemon did.
    pub mark: Option<String>,
}

/// What an upload may replace.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Replaces<'a> {
    Nothing,
    Version(&'a str),
}

/// The objects of a bucket below a prefix.
#[derive(Debug)]
pub(crate) struct Bucket {
    store: AmazonS3,
    prefix: Path,
    runtime: Runtime,
    timeout: Duration,
    gate: Arc<Gate>,
}

impl Bucket {
    /// Open the bucket of a URL, `s3://BUCKET/PREFIX`, with the credentials, region and endpoint of the environment.
    /// Requests fail after the time-out.
    ///
    /// # Errors
    /// The URL or the environment is wrong, or the bucket does not answer.
    pub fn open(url: &str, timeout: Duration, gate: Arc<Gate>) -> isthmus_wire::Result<Self> {
        let refuse = |text: String| Error::Config(format!("--export {url}: {text}"));
        let rest = url.strip_prefix(super::SCHEME).unwrap_or_default();
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        let prefix = prefix.trim_end_matches('/');
        if bucket.is_empty() || (!prefix.is_empty() && prefix.split('/').any(str::is_empty)) {
            let text = "the bucket is missing or the prefix has an empty part: write s3://BUCKET or s3://BUCKET/PREFIX";
            return Err(refuse(text.into()));
        }
        let prefix = Path::parse(prefix).map_err(|error| refuse(error.to_string()))?;
        install_crypto_provider();
        let retry = RetryConfig {
            retry_timeout: timeout,
            ..RetryConfig::default()
        };
        let store = from_environment();
        let of = |key: AmazonS3ConfigKey| store.get_config_value(&key).unwrap_or_default();
        let allows_http = of(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        let allows_http = ["1", "on", "true", "y", "yes"].contains(&&*allows_http.to_lowercase());
        check_endpoint(&of(AmazonS3ConfigKey::Endpoint), allows_http).map_err(refuse)?;
        let store = store
            .with_bucket_name(bucket)
            .with_config(
                AmazonS3ConfigKey::Client(ClientConfigKey::Timeout),
                CLIENT_TIMEOUT,
            )
            .with_retry(retry)
            .build()
            .map_err(|error| refuse(error.to_string()))?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("objects")
            .enable_all()
            .build()
            .map_err(|error| refuse(error.to_string()))?;
        let bucket = Self {
            store,
            prefix,
            runtime,
            timeout,
            gate,
        };
        match bucket.try_call(timeout, bucket.is_used_below(&bucket.prefix)) {
            Ok(_) => Ok(bucket),
            Err(error) => {
                let text = brief(&error);
                let hint = match std::env::var_os("AWS_ACCESS_KEY_ID") {
                    _ if text.contains("NoSuchBucket") => "name a bucket that exists",
                    Some(_) => "see AWS_ENDPOINT_URL, AWS_REGION and the credentials",
                    None => "AWS_ACCESS_KEY_ID is not set, and this host gives no credentials",
                };
                Err(refuse(format!("{text}: {hint}")))
            }
        }
    }

    /// Carry out a request, within a time.
    fn try_call<T>(
        &self,
        time: Duration,
        request: impl Future<Output = object_store::Result<T>>,
    ) -> object_store::Result<T> {
        let timed = async { tokio::time::timeout(time, request).await };
        let late = |error| object_store::Error::Generic {
            store: "S3",
            source: Box::new(error),
        };
        self.runtime.block_on(timed).map_err(late)?
    }

    /// Carry out a request for a path within the time-out, and log its error.
    fn call<T>(
        &self,
        what: &str,
        path: &[u8],
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        self.call_within(self.timeout, what, path, request)
    }

    /// Carry out a request for a path that takes as long as its data takes, and log its error.
    fn transfer<T>(
        &self,
        what: &str,
        path: &[u8],
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        self.call_within(self.timeout.max(TRANSFER_TIMEOUT_MIN), what, path, request)
    }

    /// Carry out a request for a path within a time, and log its error.
    fn call_within<T>(
        &self,
        time: Duration,
        what: &str,
        path: &[u8],
        request: impl Future<Output = object_store::Result<T>>,
    ) -> Result<T> {
        self.try_call(time, request).map_err(|error| {
            let errno = errno(&error);
            // For some callers these are no errors.
            if ![Errno::NOENT, Errno::EXIST].contains(&errno) {
                self.log(what, path, &brief(&error));
            }
            errno
        })
    }

    /// Return the key of a path.
    fn key(&self, path: &[u8]) -> Result<Path> {
        let path = str::from_utf8(path).map_err(|_| Errno::ILSEQ)?;
        let whole = match (self.prefix.as_ref(), path) {
            (prefix, "") => prefix.to_owned(),
            ("", path) => path.to_owned(),
            (prefix, path) => format!("{prefix}/{path}"),
        };
        Path::parse(whole).map_err(|_| Errno::INVAL)
    }

    /// Return whether there are objects below a key.
    async fn is_used_below(&self, key: &Path) -> object_store::Result<bool> {
        let prefix = prefix_below(key);
        let options = PaginatedListOptions {
            max_keys: Some(1),
            ..PaginatedListOptions::default()
        };
        let listed = self
            .store
            .list_paginated(prefix.as_deref(), options)
            .await?;
        Ok(!listed.result.objects.is_empty())
    }

    /// Return whether there are objects below a path.
    pub fn has_objects(&self, path: &[u8]) -> Result<bool> {
        let key = self.key(path)?;
        self.call("list", path, self.is_used_below(&key))
    }

    /// Return the object at a path; `None` if there is none.
    pub fn find(&self, path: &[u8]) -> Result<Option<Object>> {
        let (key, options) = (self.key(path)?, GetOptions::new().with_head(true));
        match self.call("look up", path, self.store.get_opts(&key, options)) {
            Ok(found) => {
                let mark = found.attributes.get(&Attribute::Metadata(MARK.into()));
                let mark = mark.map(|mark| String::from(mark.as_ref()));
                self.object(path, &found.meta, mark).map(Some)
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Return the names below a path, each with its object, or `None` for a directory. A directory hides an object of
    /// the same name.
    pub fn list(&self, path: &[u8]) -> Result<BTreeMap<String, Option<Object>>> {
        let key = self.key(path)?;
        let prefix = prefix_below(&key);
        let mut names = BTreeMap::new();
        let mut token = None;
        loop {
            let options = PaginatedListOptions {
                delimiter: Some("/".into()),
                page_token: token,
                ..PaginatedListOptions::default()
            };
            let page = self.call(
                "list",
                path,
                self.store.list_paginated(prefix.as_deref(), options),
            )?;
            self.add_names(path, &key, &page.result, &mut names)?;
            token = page.page_token;
            if token.is_none() {
                return Ok(names);
            }
        }
    }

    /// Add the names of a page of a list.
    fn add_names(
        &self,
        path: &[u8],
        key: &Path,
        listed: &ListResult,
        names: &mut BTreeMap<String, Option<Object>>,
    ) -> Result<()> {
        let name = |path: &Path| path.filename().map(str::to_owned);
        // Some programs mark a directory by an object whose name ends with a slash.
        let objects = listed.objects.iter().filter(|found| found.location != *key);
        for found in objects {
            let object = Some(self.object(path, found, None)?);
            if let Some(name) = name(&found.location) {
                // On another page, it may have been a directory.
                names.entry(name).or_insert(object);
            }
        }
        let directories = listed.common_prefixes.iter().filter_map(name);
        names.extend(directories.map(|name| (name, None)));
        Ok(())
    }

    /// Read bytes of a version of an object; all of them without a range.
    pub fn read(&self, path: &[u8], version: &str, range: Option<Range<u64>>) -> Result<Vec<u8>> {
        let key = self.key(path)?;
        let options = GetOptions::new()
            .with_if_match(Some(quoted(version)))
            .with_range(range.map(GetRange::Bounded));
        let read = async { self.store.get_opts(&key, options).await?.bytes().await };
        self.call("read", path, read).map(Vec::from)
    }

    /// Store an object without content, perhaps with a mark. Return its version.
    pub fn store_empty(
        &self,
        path: &[u8],
        replaces: Replaces<'_>,
        mark: Option<&str>,
    ) -> Result<String> {
        self.put(path, Vec::new(), replaces, mark)
    }

    /// Store an object of at most [`PART_BYTES`].
    fn put(
        &self,
        path: &[u8],
        bytes: Vec<u8>,
        replaces: Replaces<'_>,
        mark: Option<&str>,
    ) -> Result<String> {
        let key = self.key(path)?;
        let mode = match replaces {
            Replaces::Nothing => PutMode::Create,
            Replaces::Version(version) => PutMode::Update(UpdateVersion {
                e_tag: Some(quoted(version)),
                version: None,
            }),
        };
        let options = PutOptions {
            mode,
            attributes: marked(mark),
            ..PutOptions::default()
        };
        let put = self.store.put_opts(&key, PutPayload::from(bytes), options);
        let stored = self.transfer("store", path, put)?;
        self.version(path, stored.e_tag)
    }

    /// Return the version that a request has returned; ask for it if it has not.
    fn version(&self, path: &[u8], returned: Option<String>) -> Result<String> {
        match returned {
            Some(version) => Ok(unquoted(&version)),
            None => Ok(self.find(path)?.ok_or(Errno::STALE)?.version),
        }
    }

    /// Store an object of `size` bytes with a mark in place of a version. Return its version. `read` reads bytes of the
    /// content from an offset on; `progressed` is called when the store has taken a part.
    ///
    /// # Errors
    /// [`Errno::STALE`] if the object has another version. Of an object with more than [`PART_BYTES`], this is found out
    /// just before it is replaced.
    pub fn store(
        &self,
        path: &[u8],
        replaces: &str,
        mark: &str,
        size: u64,
        read: &dyn Fn(u64, &mut [u8]) -> Result<()>,
        progressed: &dyn Fn(),
    ) -> Result<String> {
        if size <= PART_BYTES {
            let mut bytes = vec![0; size as usize];
            read(0, &mut bytes)?;
            return self.put(path, bytes, Replaces::Version(replaces), Some(mark));
        }
        let key = self.key(path)?;
        let options = PutMultipartOptions {
            attributes: marked(Some(mark)),
            ..PutMultipartOptions::default()
        };
        let begin = self.store.put_multipart_opts(&key, options);
        let mut upload = self.call("store", path, begin)?;
        let part_bytes = PART_BYTES.max(size.div_ceil(PARTS));
        let mut parts = JoinSet::new();
        let mut send = || {
            let mut at = 0;
            while at < size || !parts.is_empty() {
                if at < size && parts.len() < PARTS_IN_FLIGHT {
                    let mut bytes = vec![0; (size - at).min(part_bytes) as usize];
                    read(at, &mut bytes)?;
                    at += bytes.len() as u64;
                    let part = upload.put_part(PutPayload::from(bytes));
                    parts.spawn_on(part, self.runtime.handle());
                    continue;
                }
                self.transfer("store", path, async {
                    match parts.join_next().await {
                        Some(ended) => ended?,
                        None => Ok(()),
                    }
                })?;
                progressed();
            }
            match self.find(path)? {
                Some(found) if found.version == replaces => Ok(()),
                _ => Err(Errno::STALE),
            }
        };
        if let Err(error) = send() {
            // Parts that stay are removed by the rules of the bucket, if it has some.
            let _ = self.call("abort upload of", path, upload.abort());
            return Err(error);
        }
        match self.transfer("store", path, upload.complete()) {
            Ok(stored) => self.version(path, stored.e_tag),
            Err(error) => {
                // The store must not complete the upload after this error.
                let _ = self.call("abort upload of", path, upload.abort());
                Err(error)
            }
        }
    }

    /// Describe an object.
    fn object(&self, path: &[u8], found: &ObjectMeta, mark: Option<String>) -> Result<Object> {
        let at = found.last_modified;
        let Some(tag) = &found.e_tag else {
            self.log(
                "look up",
                path,
                "the store returns no entity tag, which conflict detection requires",
            );
            return Err(Errno::OPNOTSUPP);
        };
        Ok(Object {
            size: found.size,
            modified: (at.timestamp(), at.timestamp_subsec_nanos()),
            version: unquoted(tag),
            mark,
        })
    }

    /// Copy an object to another path. Return the version there.
    pub fn copy(&self, from: &[u8], to: &[u8]) -> Result<String> {
        let (source, target) = (self.key(from)?, self.key(to)?);
        self.transfer("copy", from, self.store.copy(&source, &target))?;
        self.version(to, None)
    }

    /// Remove an object.
    pub fn remove(&self, path: &[u8]) -> Result<()> {
        let key = self.key(path)?;
        match self.call("remove", path, self.store.delete(&key)) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        }
    }

    /// Write a line to the audit log.
    pub fn log(&self, what: &str, path: &[u8], result: &str) {
        let what = format!("{what} {:?}", String::from_utf8_lossy(path));
        self.gate.log().record("store", &what, result);
    }
}

/// Return a new mark for an upload.
pub(crate) fn new_mark() -> Result<String> {
    random_key().map_err(|_| Errno::IO)
}

/// Return attributes with a mark.
fn marked(mark: Option<&str>) -> Attributes {
    let mark = mark.map(|mark| (Attribute::Metadata(MARK.into()), mark.to_owned()));
    mark.into_iter().collect()
}

/// Return the prefix of the keys below a key; `None` for the whole bucket.
fn prefix_below(key: &Path) -> Option<String> {
    (!key.as_ref().is_empty()).then(|| format!("{key}/"))
}

/// Return a version as an entity tag.
fn quoted(version: &str) -> String {
    format!("\"{version}\"")
}

/// Return the version of an entity tag.
fn unquoted(tag: &str) -> String {
    tag.trim_matches('"').to_owned()
}

/// Return the error number for an error of the store.
fn errno(error: &object_store::Error) -> Errno {
    use object_store::Error;
    match error {
        Error::NotFound { .. } => Errno::NOENT,
        Error::AlreadyExists { .. } => Errno::EXIST,
        Error::Precondition { .. } => Errno::STALE,
        Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Errno::ACCES,
        Error::NotSupported { .. } | Error::NotImplemented { .. } => Errno::OPNOTSUPP,
        Error::InvalidPath { .. } => Errno::INVAL,
        _ => Errno::IO,
    }
}

/// Return the text of an error in one line: the code that the store has replied, or the last cause.
fn brief(error: &object_store::Error) -> String {
    let text = error.to_string();
    let code = text.split_once("<Code>");
    if let Some((code, _)) = code.and_then(|(_, rest)| rest.split_once("</Code>")) {
        return format!("the store replies {code}");
    }
    let mut last: &dyn std::error::Error = error;
    while let Some(cause) = last.source() {
        last = cause;
    }
    let words: Vec<_> = text.split_whitespace().collect();
    let (whole, last) = (words.join(" "), last.to_string());
    match whole.contains(&last) {
        true => whole,
        false => format!("{whole}: {last}"),
    }
}

/// Return the settings of the environment. A variable without a value is none.
fn from_environment() -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::new();
    for (name, value) in std::env::vars_os() {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        let key = name.to_ascii_lowercase().parse::<AmazonS3ConfigKey>();
        if let (true, false, Ok(key)) = (name.starts_with("AWS_"), value.is_empty(), key) {
            builder = builder.with_config(key, value);
        }
    }
    builder
}

/// Check the URL of a store; an empty one is that of Amazon.
///
/// # Errors
/// A text that says what is wrong.
fn check_endpoint(endpoint: &str, allows_http: bool) -> std::result::Result<(), String> {
    if endpoint.is_empty() {
        return Ok(());
    }
    let url = reqwest::Url::parse(endpoint);
    let scheme = url.as_ref().map_or("", |url| url.scheme());
    match scheme {
        "https" => Ok(()),
        "http" if allows_http => Ok(()),
        "http" => Err(format!(
            "AWS_ENDPOINT_URL is {endpoint}, without TLS: set AWS_ALLOW_HTTP=true if others may read the data"
        )),
        _ => Err(format!(
            "AWS_ENDPOINT_URL is {endpoint:?}: give a URL such as https://s3.example.org:9000"
        )),
    }
}
