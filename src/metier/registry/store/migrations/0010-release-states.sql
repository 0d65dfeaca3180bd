-- A release is served only while its state is online. The time at which it came online stays when it is quarantined later.
alter table release add column state text not null default 'online';
alter table release add column state_reason text not null default '';
alter table release add column online bigint;
alter table release add column available bigint not null default 0;
update release set online = published;
create index release_state on release (state, id) where state <> 'online';

-- A package is hidden until one of its releases has been online. `fresh` is its newest version if that is in its cool-down.
alter table package add column hidden integer not null default 0;
alter table package add column fresh text not null default '';
alter table package add column available bigint not null default 0;

-- Namespaces whose uploads wait for a review.
create table namespace_setting (
    namespace text primary key,
    review integer not null
);
