-- The last change of each package, so that what was rendered for the others is kept. Triggers write it: no change can be forgotten.
-- The transaction's id and not a sequence: transactions commit in any order.
create table package_change (
    kind text not null,
    name text not null,
    changed xid8 not null,
    primary key (kind, name)
);
create index package_change_changed on package_change (changed);
create function note_change(package_id bigint) returns void language sql as
$$ insert into package_change (kind, name, changed) select kind, name, pg_current_xact_id() from package where id = package_id on conflict (kind, name) do update set changed = excluded.changed where package_change.changed <> excluded.changed $$;
create function note_package() returns trigger language plpgsql as
$$ begin insert into package_change (kind, name, changed) values (old.kind, old.name, pg_current_xact_id()) on conflict (kind, name) do update set changed = excluded.changed where package_change.changed <> excluded.changed; return null; end $$;
create function note_row() returns trigger language plpgsql as
$$ begin perform note_change(case tg_op when 'DELETE' then old.package else new.package end); return null; end $$;
create function note_signature() returns trigger language plpgsql as
$$ begin perform note_change(r.package) from release r where r.id = case tg_op when 'DELETE' then old.release else new.release end; return null; end $$;
create trigger package_noted after update or delete on package for each row execute function note_package();
create trigger owner_noted after insert or update or delete on owner for each row execute function note_row();
create trigger release_noted after insert or update or delete on release for each row execute function note_row();
create trigger tag_noted after insert or update or delete on tag for each row execute function note_row();
create trigger download_day_noted after insert or update or delete on download_day for each row execute function note_row();
create trigger signature_noted after insert or update or delete on signature for each row execute function note_signature();
