import { statSync } from 'node:fs'
import { join } from 'node:path'
import { hasStoredContents } from '../files/content-folder.js'
import type { AccountStore, Store } from '../store.js'
import { AccountReader } from './accounts/account-reader.js'
import { AccountWriter } from './accounts/account-writer.js'
import { LmdbEnvironment } from './environment.js'
import { FEDERATION_TABLE_NAMES } from './federation/federation-layout.js'
import { openFederation } from './federation/federation-open.js'
import { FILE_TABLE_NAME } from './files/file-layout.js'
import { openFiles } from './files/file-open.js'
import { SCIM_TABLE_NAMES } from './groups/scim-layout.js'
import { openScim } from './groups/scim-open.js'
import { ItemReader } from './items/item-reader.js'
import { ItemScanner } from './items/item-scanner.js'
import { ItemWriter } from './items/item-writer.js'

interface LmdbOptions {
  /** Folder of the store; created when absent. */
  readonly path: string
  /** Unix time in seconds, for `created_at`. */
  readonly unixSeconds: () => number
}

const TABLES = {
  pages: 'item-pages',
  texts: 'item-texts',
  directory: 'item-directory',
  counter: 'item-counter',
}
const ACCOUNT_TABLES = {
  keys: 'account-keys',
  organizations: 'account-organizations',
  workspaces: 'account-workspaces',
  ownerIndex: 'account-belongings',
}

/**
 * The embedded store. Safe to open from several processes at once. Throws when there are contents of files and no
 * database: a new one would know nothing of them, and somebody would miss the old one.
 */
export function openLmdbStore(options: LmdbOptions): Store {
  if (isWithoutDatabase(options.path) && hasStoredContents(options.path)) {
    const { path } = options
    throw new Error(
      `${join(path, 'files')} holds stored files but ${join(path, 'data.mdb')}, the database that knows them, is gone: put it back, or move the files away to begin anew`,
    )
  }
  const env = new LmdbEnvironment(options.path, {
    numbered: Object.values(TABLES),
    byBytes: [
      ...Object.values(ACCOUNT_TABLES),
      ...Object.values(FEDERATION_TABLE_NAMES),
      ...Object.values(SCIM_TABLE_NAMES),
      FILE_TABLE_NAME,
    ],
  })
  const tables = {
    pages: env.table(TABLES.pages),
    texts: env.table(TABLES.texts),
    directory: env.table(TABLES.directory),
    counter: env.table(TABLES.counter),
  }
  const reader = new ItemReader(env, tables)
  const scanner = new ItemScanner(env, tables, reader)
  const writer = new ItemWriter(env, tables, options.unixSeconds)
  const accounts = openAccounts(env)
  const federation = openFederation(env)
  const files = openFiles(env, options.path, options.unixSeconds)
  const scim = openScim(env)
  return {
    items: {
      read: (id) => reader.read(id),
      list: (offset, limit) => reader.list(offset, limit),
      search: (needle, limit, interest) => scanner.search(needle, limit, interest),
      create: (fields) => writer.create(fields),
      replace: (id, fields) => writer.replace(id, fields),
      remove: (id) => writer.remove(id),
      lastId: () => reader.lastId(),
    },
    accounts: accounts.store,
    federation: federation.store,
    files: files.store,
    scim: scim.store,
    isWriting: () => env.isWriting,
    close: async () => {
      await Promise.all([writer.idle(), accounts.idle(), federation.idle(), files.idle(), scim.idle()])
      await env.close()
    },
  }
}

/** An empty file is one that is yet to become a database, or was one. */
function isWithoutDatabase(path: string): boolean {
  return (statSync(join(path, 'data.mdb'), { throwIfNoEntry: false })?.size ?? 0) === 0
}

function openAccounts(env: LmdbEnvironment): {
  readonly store: AccountStore
  readonly idle: () => Promise<void>
} {
  const tables = {
    keys: env.byteTable(ACCOUNT_TABLES.keys),
    organizations: env.byteTable(ACCOUNT_TABLES.organizations),
    workspaces: env.byteTable(ACCOUNT_TABLES.workspaces),
    ownerIndex: env.byteTable(ACCOUNT_TABLES.ownerIndex),
  }
  const reader = new AccountReader(env, tables)
  const writer = new AccountWriter(env, tables)
  const store: AccountStore = {
    key: (hash) => reader.key(hash),
    keysOf: (organizationId) => reader.keysOf(organizationId),
    keys: () => reader.keys(),
    addKey: (key) => writer.addKey(key),
    changeKey: (hash, change) => writer.changeKey(hash, change),
    organization: (id) => reader.organization(id),
    organizations: () => reader.organizations(),
    addOrganization: (added) => writer.addOrganization(added),
    changeOrganization: (id, change) => writer.changeOrganization(id, change),
    workspace: (id) => reader.workspace(id),
    workspacesOf: (organizationId) => reader.workspacesOf(organizationId),
    addWorkspace: (workspace) => writer.addWorkspace(workspace),
    bootstrap: (first) => writer.found(first),
  }
  return { store, idle: () => writer.idle() }
}
