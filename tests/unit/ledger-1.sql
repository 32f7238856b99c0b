BEGIN TRANSACTION;
CREATE TABLE rv_blocks (
	name TEXT NOT NULL, 
	"view" TEXT NOT NULL, 
	number INTEGER NOT NULL, 
	folder TEXT NOT NULL, 
	frontier TEXT NOT NULL, 
	oldest INTEGER NOT NULL, 
	folded_version INTEGER, 
	fold_times TEXT NOT NULL, 
	rows INTEGER NOT NULL, 
	bytes INTEGER NOT NULL, 
	PRIMARY KEY (name), 
	UNIQUE ("view", number), 
	FOREIGN KEY("view") REFERENCES rv_views (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, 
	UNIQUE (folder)
);
INSERT INTO "rv_blocks" VALUES('v','v',1,'views/v/1','[2]',0,7,'[0, 0, 0]',5,50);
INSERT INTO "rv_blocks" VALUES('v#0','v',0,'views/v/0','[1, 2]',1,NULL,'[]',0,0);
CREATE TABLE rv_changes (
	csn INTEGER NOT NULL, 
	relation TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	committed_at DATETIME NOT NULL, 
	operation TEXT NOT NULL, 
	inserted INTEGER NOT NULL, 
	deleted INTEGER NOT NULL, 
	files TEXT NOT NULL, 
	PRIMARY KEY (csn, relation), 
	FOREIGN KEY(csn) REFERENCES rv_commits (csn) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, 
	FOREIGN KEY(relation) REFERENCES rv_relations (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
INSERT INTO "rv_changes" VALUES(1,'lake.sales',4,'2026-03-01 12:00:01.123456','WRITE',2,1,'{"add": ["part-1.parquet"]}');
INSERT INTO "rv_changes" VALUES(2,'lake.sales',5,'2026-03-01 12:00:02.123456','WRITE',2,1,'{"add": ["part-2.parquet"]}');
INSERT INTO "rv_changes" VALUES(3,'lake.sales',6,'2026-03-01 12:00:03.123456','WRITE',2,1,'{"add": ["part-3.parquet"]}');
CREATE TABLE rv_commits (
	csn INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	xid INTEGER, 
	committed_at DATETIME NOT NULL, 
	operation TEXT NOT NULL, 
	PRIMARY KEY (csn)
);
INSERT INTO "rv_commits" VALUES(1,'lake',4,8589934592,'2026-03-01 12:00:01.123456','WRITE');
INSERT INTO "rv_commits" VALUES(2,'lake',5,NULL,'2026-03-01 12:00:02.123456','WRITE');
INSERT INTO "rv_commits" VALUES(3,'lake',6,8589934592,'2026-03-01 12:00:03.123456','WRITE');
CREATE TABLE rv_intents (
	id TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	subject TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
CREATE TABLE rv_refreshes (
	number INTEGER NOT NULL, 
	"view" TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	seconds DOUBLE NOT NULL, 
	technique TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	state TEXT NOT NULL, 
	error TEXT NOT NULL, 
	from_csn INTEGER, 
	to_csn INTEGER, 
	rows INTEGER NOT NULL, 
	bytes INTEGER NOT NULL, 
	jobs INTEGER NOT NULL, 
	details TEXT NOT NULL, 
	PRIMARY KEY (number)
);
CREATE TABLE rv_relations (
	name TEXT NOT NULL, 
	source TEXT NOT NULL, 
	location TEXT NOT NULL, 
	table_id TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	columns TEXT NOT NULL, 
	base_csn INTEGER NOT NULL, 
	base_position INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	bytes INTEGER NOT NULL, 
	stopped TEXT, 
	properties TEXT NOT NULL, 
	PRIMARY KEY (name), 
	FOREIGN KEY(source) REFERENCES rv_sources (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
INSERT INTO "rv_relations" VALUES('lake.sales','lake','/data/sales','t1',3,'[["id", "bigint"], ["price", "decimal(10,2)"]]',0,3,10,1099511627776,NULL,'{"mode": "name"}');
INSERT INTO "rv_relations" VALUES('lake.customer','lake','/data/sales','t1',3,'[["id", "bigint"], ["price", "decimal(10,2)"]]',0,3,10,1099511627776,NULL,'{"mode": "name"}');
CREATE TABLE rv_schema_epochs (
	relation TEXT NOT NULL, 
	position INTEGER NOT NULL, 
	csn INTEGER NOT NULL, 
	columns TEXT NOT NULL, 
	PRIMARY KEY (relation, position), 
	FOREIGN KEY(relation) REFERENCES rv_relations (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED
);
CREATE TABLE rv_sources (
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	config TEXT NOT NULL, 
	added_at DATETIME NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "rv_sources" VALUES('lake','delta','{"path": "/data/l\u00e4ke", "deep": [1, {"a": null}]}','2026-03-01 12:00:00.123456');
CREATE TABLE rv_steps (
	id TEXT NOT NULL, 
	block TEXT NOT NULL, 
	folder TEXT NOT NULL, 
	lo INTEGER NOT NULL, 
	hi INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	taken INTEGER NOT NULL, 
	bytes INTEGER NOT NULL, 
	committed_at DATETIME NOT NULL, 
	PRIMARY KEY (id), 
	FOREIGN KEY(block) REFERENCES rv_blocks (name) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, 
	UNIQUE (folder)
);
INSERT INTO "rv_steps" VALUES('s1','v','steps/s1',1,2,10,2,1000,'2026-03-01 12:00:02.123456');
INSERT INTO "rv_steps" VALUES('s2','v#0','steps/s2',3,3,10,2,1000,'2026-03-01 12:00:03.123456');
CREATE TABLE rv_subscribers (
	"view" TEXT NOT NULL, 
	name TEXT NOT NULL, 
	csn INTEGER NOT NULL, 
	PRIMARY KEY ("view", name)
);
CREATE TABLE rv_trash (
	folder TEXT NOT NULL, 
	since DATETIME NOT NULL, 
	PRIMARY KEY (folder)
);
CREATE TABLE rv_views (
	name TEXT NOT NULL, 
	sql TEXT NOT NULL, 
	definition TEXT NOT NULL, 
	options TEXT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT NOT NULL, 
	created_at DATETIME NOT NULL, 
	view_time INTEGER, 
	PRIMARY KEY (name)
);
INSERT INTO "rv_views" VALUES('v','SELECT v','{"kind": "Definition", "name": "v", "sql": "SELECT \u2026 AS v", "blocks": [{"kind": "Union", "parts": [{"kind": "Join", "inputs": [{"kind": "Input", "alias": "s", "relation": "lake.sales", "columns": ["id", "price"]}, {"kind": "Input", "alias": "c", "relation": "lake.customer", "columns": ["id"]}], "condition": "`s`.`id` = `c`.`id`", "columns": [{"kind": "Column", "name": "id", "expr": "`s`.`id`", "type": "bigint"}, {"kind": "Column", "name": "price", "expr": "`s`.`price`", "type": "decimal(10,2)"}]}]}, {"kind": "Reduce", "source": {"kind": "Union", "parts": [{"kind": "Join", "inputs": [{"kind": "Input", "alias": "b", "relation": "v#0", "columns": ["id"]}], "condition": null, "columns": [{"kind": "Column", "name": "id", "expr": "`id`", "type": "bigint"}]}]}, "keys": ["id"], "sums": [{"kind": "Column", "name": "s", "expr": "`id` * `_rv_count`", "type": "bigint"}], "columns": [{"kind": "Column", "name": "id", "expr": "`id`", "type": "bigint"}], "having": null}]}','{"fold": "always"}','building','','2026-03-01 12:00:05.123456',NULL);
CREATE TABLE rv_warehouse (
	id TEXT NOT NULL, 
	schema_version INTEGER NOT NULL, 
	created_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
INSERT INTO "rv_warehouse" VALUES('44e2eec450874866a60770fa5d3ee951',1,'2026-11-16 05:41:55.945305');
CREATE TABLE rv_writers (
	id INTEGER NOT NULL, 
	pid INTEGER NOT NULL, 
	host TEXT NOT NULL, 
	command TEXT NOT NULL, 
	started_at DATETIME NOT NULL, 
	PRIMARY KEY (id)
);
CREATE INDEX rv_commits_time ON rv_commits (committed_at, csn);
CREATE INDEX rv_refreshes_view ON rv_refreshes ("view", number);
CREATE INDEX rv_relations_source ON rv_relations (source);
CREATE INDEX rv_changes_relation ON rv_changes (relation, csn, inserted, deleted);
CREATE INDEX rv_steps_block ON rv_steps (block, hi);
COMMIT;
