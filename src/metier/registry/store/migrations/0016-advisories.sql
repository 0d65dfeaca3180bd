-- Advisories of this registry, as JSON. Withdrawn ones stay, so that their ids are not used again.
create table advisory (
    id text primary key,
    contents text not null,
    added bigint not null,
    withdrawn bigint
);
