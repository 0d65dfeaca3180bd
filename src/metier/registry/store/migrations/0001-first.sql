-- Times are milliseconds since 1970. A package's row repeats the main fields of its current release.
create table package (
    id {identity},
    kind text not null,
    name text not null,
    namespace text not null,
    visibility text not null,
    status text not null,
    reason text not null default '',
    created bigint not null,
    updated bigint not null,
    removed bigint,
    downloads bigint not null default 0,
    version text not null default '',
    description text not null default '',
    author text not null default '',
    license text not null default '',
    tags text not null default '',
    verdict text not null default 'unknown',
    digest text not null default '',
    archive text not null default '',
    size bigint not null default 0,
    signed text not null default '',
    unique (kind, name)
);
create index package_updated on package (kind, updated, name);
create index package_downloads on package (kind, downloads, name);
create index package_namespace on package (namespace, kind);

create table owner (
    package bigint not null references package (id) on delete cascade,
    namespace text not null,
    place integer not null,
    primary key (package, namespace)
);

create table release (
    id {identity},
    package bigint not null references package (id) on delete cascade,
    version text not null,
    digest text not null,
    archive text not null,
    size bigint not null,
    description text not null,
    author text not null,
    license text not null,
    tags text not null,
    details text not null,
    published bigint not null,
    publisher text not null,
    yanked bigint,
    yank_reason text not null default '',
    verdict text not null,
    findings text not null,
    signed text not null default '',
    unique (package, version)
);
create index release_archive on release (archive);

-- Tags of versions, such as beta.
create table tag (
    package bigint not null references package (id) on delete cascade,
    tag text not null,
    version text not null,
    primary key (package, tag)
);

-- The words of metadata.tags, for filters.
create table keyword (
    package bigint not null references package (id) on delete cascade,
    word text not null,
    primary key (package, word)
);
create index keyword_word on keyword (word, package);

create table offer (
    package bigint primary key references package (id) on delete cascade,
    namespace text not null,
    at bigint not null
);

create table signature (
    id {identity},
    release bigint not null references release (id) on delete cascade,
    kind text not null,
    signer text not null,
    keyid text not null,
    payload text not null,
    created bigint not null,
    unique (release, kind, keyid)
);

create table token (
    id {identity},
    hashed text not null unique,
    prefix text not null,
    holder text not null,
    scopes text not null,
    note text not null,
    created bigint not null,
    expires bigint,
    revoked bigint
);

create table signing_key (
    id {identity},
    namespace text not null,
    keyid text not null,
    public text not null,
    note text not null,
    created bigint not null,
    revoked bigint,
    unique (namespace, keyid)
);

create table report (
    id {identity},
    package bigint not null references package (id) on delete cascade,
    version text not null,
    reporter text not null,
    reason text not null,
    details text not null,
    state text not null,
    created bigint not null,
    note text not null default ''
);
create index report_state on report (state, id);

create table audit (
    id {identity},
    at bigint not null,
    actor text not null,
    action text not null,
    subject text not null,
    details text not null
);
create index audit_subject on audit (subject, id);

create table download_day (
    package bigint not null references package (id) on delete cascade,
    day text not null,
    version text not null,
    downloads bigint not null,
    primary key (package, day, version)
);
create index download_day_day on download_day (day);

-- Identities that downloaded a package today, as keyed hashes that are deleted after two days.
create table download_seen (
    day text not null,
    package bigint not null,
    identity text not null,
    primary key (day, package, identity)
);

create table job (
    id {identity},
    kind text not null,
    subject text not null,
    due bigint not null,
    claimed bigint not null default 0,
    attempts integer not null default 0,
    error text not null default '',
    unique (kind, subject)
);
create index job_due on job (due);

create table setting (
    key text primary key,
    value text not null
);

-- Words of names, tags and descriptions, and their forms without one letter, for typo correction.
create table spelling (
    form text not null,
    word text not null,
    primary key (form, word)
);
