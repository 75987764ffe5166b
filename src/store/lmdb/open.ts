import type { Store } from '../store.js'
import { Environment } from './environment.js'
import { ItemReader } from './item-reader.js'
import { ItemScanner } from './item-scanner.js'
import { ItemWriter } from './item-writer.js'

export interface LmdbOptions {
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

/** The embedded store. Safe to open from several processes at once. */
export function openLmdbStore(options: LmdbOptions): Store {
  const env = new Environment(options.path, Object.values(TABLES))
  const tables = {
    pages: env.table(TABLES.pages),
    texts: env.table(TABLES.texts),
    directory: env.table(TABLES.directory),
    counter: env.table(TABLES.counter),
  }
  const reader = new ItemReader(env, tables)
  const scanner = new ItemScanner(env, tables, reader)
  const writer = new ItemWriter(env, tables, options.unixSeconds)
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
    close: async () => {
      await writer.idle()
      await env.close()
    },
  }
}
