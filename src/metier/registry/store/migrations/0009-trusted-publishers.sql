-- Jobs of a CI system that may publish. The project's number is kept at its first use: a name can pass to another project.
create table trusted_publisher (
    id {identity},
    namespace text not null,
    package text not null,
    issuer text not null,
    repository text not null,
    workflow text not null,
    ref text not null,
    environment text not null,
    created bigint not null,
    project_id text not null default ''
);
create index trusted_publisher_job on trusted_publisher (issuer, repository);

-- Each token of a job is exchanged once.
create table used_job_token (
    hashed text primary key,
    expires bigint not null
);

alter table token add column publisher_id bigint;
alter table token add column provenance text not null default '';
alter table release add column provenance text not null default '';
