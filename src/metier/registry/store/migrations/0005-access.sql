-- A token that was created with another one is revoked with it.
alter table token add column parent bigint;
create index token_parent on token (parent);

-- The token and the address of the actor.
alter table audit add column token text not null default '';
alter table audit add column address text not null default '';

-- The address of a report without a token; one address reports a version for one reason once.
alter table report add column address text not null default '';
create index report_reporter on report (reporter, address, state);

-- Sessions of the pages, as hashes. They end with their token.
create table session (
    hashed text primary key,
    token bigint not null references token (id) on delete cascade,
    created bigint not null,
    expires bigint not null
);
create index session_token on session (token);

-- Files that were uploaded for a release that is not published yet.
create table upload (
    hashed text primary key,
    token bigint not null references token (id) on delete cascade,
    digest text not null,
    expires bigint not null,
    stored integer not null default 0
);
create index upload_token on upload (token);

-- The words of each package's name, tags and description, so that a correction offers only words that the caller may read.
create table package_word (
    package bigint not null references package (id) on delete cascade,
    word text not null,
    primary key (package, word)
);
create index package_word_word on package_word (word, package);
insert into job (kind, subject, due) select 'spell', '', 0 where exists (select 1 from package);

-- A signature of a revoked key is no reason to call a release signed.
update release set signed = '' where signed <> '' and not exists (
    select 1 from signature s where s.release = release.id and (s.kind <> 'ed25519' or exists (
        select 1 from signing_key k where k.namespace = s.signer and k.keyid = s.keyid and k.revoked is null)));
update package set signed = '' where signed <> '' and not exists (
    select 1 from release r where r.package = package.id and r.version = package.version and r.signed <> '');
