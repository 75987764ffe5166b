import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { breaches, idleAllowances, rowCircles, type Sources } from './architecture/check.js'
import { folderTable, tableOfPage } from './architecture/folder-table.js'
import { DEFAULT_EXPORTS, ENVIRONMENT, FOLDERS } from './architecture/rules.js'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

function tree(): Sources {
  const sources: Record<string, string> = {}
  for (const folder of ['src', 'workers']) {
    for (const entry of readdirSync(`${ROOT}${folder}`, { recursive: true, encoding: 'utf8' })) {
      const path = `${folder}/${entry}`
      if (/\.tsx?$/.test(path)) sources[path] = readFileSync(`${ROOT}${path}`, 'utf8')
    }
  }
  return sources
}

test('the source tree keeps every rule of the architecture', async (t) => {
  const sources = tree()
  t.ok(Object.keys(sources).length > 40, 'the whole tree was read')
  t.same(breaches(sources), [])
})

test('every stated exception still has its file', async (t) => {
  const paths = Object.keys(tree())
  for (const { place, reason } of [...DEFAULT_EXPORTS, ...ENVIRONMENT]) {
    t.ok(
      paths.some((path) => path.startsWith(place)),
      `${place}: ${reason}`,
    )
  }
})

test('no row allows more than its files need, and no way through the rows leads back', async (t) => {
  t.same(idleAllowances(tree(), FOLDERS), [])
  t.same(rowCircles(FOLDERS), [])
})

test('a row that allows too much is told', async (t) => {
  const row = (...may: { to: string; typesOnly?: true }[]) => [{ place: 'src/http/', says: '', may }]
  const sources = { 'src/http/x.ts': "import type { Call } from '../transport/exchange.js'" }
  t.same(idleAllowances(sources, row({ to: 'src/transport/', typesOnly: true })), [])
  t.same(idleAllowances(sources, row({ to: 'src/transport/' })), [
    'src/http/: needs no more than types of src/transport/',
  ])
  t.same(idleAllowances(sources, row({ to: 'src/store/', typesOnly: true })), [
    'src/http/: nobody imports src/store/',
  ])
})

test('rows that allow a circle are told, also by a folder within another', async (t) => {
  const rows = (a: string, b: string, c: string) => [
    { place: 'src/a/', says: '', may: [{ to: a }] },
    { place: 'src/a/inner/', says: '', may: [{ to: c }] },
    { place: 'src/b/', says: '', may: [{ to: b }] },
    { place: 'src/c.ts', says: '', may: [] },
  ]
  t.same(rowCircles(rows('src/b/', 'src/a/inner/', 'src/c.ts')), [])
  t.same(rowCircles(rows('src/b/', 'src/c.ts', 'src/b/')), [])
  t.same(rowCircles(rows('src/c.ts', 'src/a/inner/', 'src/b/x.ts')), [
    'places: src/a/inner/ -> src/b/ -> src/a/inner/',
  ])
})

test('every place of the table stands there once and holds files', async (t) => {
  const paths = Object.keys(tree())
  for (const { place } of FOLDERS) {
    t.equal(FOLDERS.filter((other) => other.place === place).length, 1, place)
    const there = new RegExp(`^${place.replace('*', '[^/]+')}`)
    t.ok(
      paths.some((path) => there.test(path)),
      `${place} has files`,
    )
  }
})

test('docs/architecture.md shows the rules as they are; `node dist/test/architecture/folder-table.js` writes them', async (t) => {
  t.equal(tableOfPage(), folderTable())
})

interface Example {
  readonly name: string
  readonly files: Sources
  readonly refused: RegExp
}

const BAD: readonly Example[] = [
  {
    name: 'a feature that imports another feature',
    files: { 'src/features/report/x.ts': "import { Item } from '../items/schema.js'" },
    refused: /report\/x\.ts:1: may not import src\/features\/items\/schema\.ts/,
  },
  {
    name: 'a feature that imports the transport, types included',
    files: { 'src/features/items/x.ts': "import type { Call } from '../../transport/exchange.js'" },
    refused: /\(types\) may not import src\/transport\/exchange\.ts/,
  },
  {
    name: 'a feature that imports the embedded store instead of its port',
    files: { 'src/features/items/x.ts': "import { openLmdbStore } from '../../store/lmdb/open.js'" },
    refused: /may not import src\/store\/lmdb\/open\.ts/,
  },
  {
    name: 'http that imports more than types from the transport',
    files: { 'src/http/x.ts': "import { isStream } from '../transport/exchange.js'" },
    refused: /may not import more than types of src\/transport\/exchange\.ts/,
  },
  {
    name: 'a type marked inside the braces, which still loads the module',
    files: { 'src/http/x.ts': "import { type Call } from '../transport/exchange.js'" },
    refused: /more than types/,
  },
  {
    name: 'http that imports another file of the transport',
    files: { 'src/http/x.ts': "import type { Edge } from '../transport/uws-exchange.js'" },
    refused: /may not import src\/transport\/uws-exchange\.ts/,
  },
  {
    name: 'base that imports anything of ours',
    files: { 'src/base/x.ts': "export { json } from '../http/reply.js'" },
    refused: /may not import src\/http\/reply\.ts/,
  },
  {
    name: 'the pool that loads a task into the event loop',
    files: { 'src/cpu-pool/x.ts': "const run = await import('../../workers/hash-thread.js')" },
    refused: /may not import workers\/hash-thread\.ts/,
  },
  {
    name: 'composition that imports the processes it is composed in',
    files: { 'src/compose/x.ts': "import type { Supervisor } from '../process/supervisor.js'" },
    refused: /\(types\) may not import src\/process\/supervisor\.ts/,
  },
  {
    name: 'the entry that imports a test',
    files: { 'src/main.ts': "import '../test/support/servers/inject.js'" },
    refused: /may not import test\/support\/servers\/inject\.ts/,
  },
  {
    name: 'an owned library loaded by a require of its own',
    files: {
      'src/http/x.ts': [
        "import { createRequire } from 'node:module'",
        'const load = createRequire(import.meta.url)',
        "export const tokens = () => load('gpt-tokenizer/cjs/encoding/o200k_base')",
      ].join('\n'),
    },
    refused: /x\.ts:3: gpt-tokenizer belongs to workers\/count-tokens\.ts/,
  },
  {
    name: 'a file of an owned library found without loading it',
    files: {
      'src/http/x.ts': [
        "import { createRequire } from 'node:module'",
        'const css = createRequire(import.meta.url).resolve("swagger-ui-dist/swagger-ui.css")',
      ].join('\n'),
    },
    refused: /x\.ts:2: swagger-ui-dist belongs to \.tools\/build\.js/,
  },
  {
    name: 'a task that imports from src',
    files: { 'workers/x.ts': "import { Fault } from '../src/base/fault.js'" },
    refused: /workers\/x\.ts:1: may not import src\/base\/fault\.ts/,
  },
  {
    name: 'counters that import the store',
    files: { 'src/telemetry/counters/x.ts': "import type { Store } from '../../store/store.js'" },
    refused: /may not import src\/store\/store\.ts/,
  },
  {
    name: 'a feature that reads the configuration',
    files: { 'src/features/hash/x.ts': "import type { Config } from '../../config/config.js'" },
    refused: /may not import src\/config\/config\.ts/,
  },
  {
    name: 'an import type in the middle of a line',
    files: { 'src/store/x.ts': "export type E = import('../http/endpoint.js').Endpoint" },
    refused: /\(types\) may not import src\/http\/endpoint\.ts/,
  },
  {
    name: 'a folder of the gateway that imports one above it, types included',
    files: { 'src/gateway/catalog/x.ts': "import type { Plan } from '../routing/plan.js'" },
    refused: /\(types\) may not import src\/gateway\/routing\/plan\.ts/,
  },
  {
    name: 'the gateway that imports the simulator',
    files: {
      'src/gateway/catalog/x.ts': "import { BUILT_IN_MODELS } from '../../simulator/built-in-models.js'",
    },
    refused: /may not import src\/simulator\/built-in-models\.ts/,
  },
  {
    name: 'the command line that imports a feature',
    files: { 'src/cli/x.ts': "import { Item } from '../features/items/schema.js'" },
    refused: /may not import src\/features\/items\/schema\.ts/,
  },
  {
    name: 'a folder the table does not know',
    files: { 'src/business/x.ts': '' },
    refused: /stands in no place/,
  },
  {
    name: 'uWebSockets.js loaded by a second file',
    files: { 'src/transport/x.ts': "import { App } from 'uWebSockets.js'" },
    refused: /uWebSockets\.js belongs to src\/transport\/native-server\.ts/,
  },
  {
    name: 'types of uWebSockets.js outside the transport',
    files: { 'src/process/x.ts': "import type { HttpResponse } from 'uWebSockets.js'" },
    refused: /uWebSockets\.js belongs to/,
  },
  {
    name: 'piscina outside the pool',
    files: { 'src/compose/x.ts': "import { Piscina } from 'piscina'" },
    refused: /piscina belongs to src\/cpu-pool\/lane\.ts/,
  },
  {
    name: 'lmdb outside its folder',
    files: { 'src/store/x.ts': "import * as lmdb from 'lmdb/index.js'" },
    refused: /lmdb belongs to src\/store\/lmdb\//,
  },
  {
    name: 'pino outside the log',
    files: { 'src/http/x.ts': "import type { Logger } from 'pino'" },
    refused: /pino belongs to src\/base\/log\.ts/,
  },
  {
    name: 'yaml outside the configuration',
    files: { 'src/main.ts': "import { parse } from 'yaml'" },
    refused: /yaml belongs to src\/config\//,
  },
  ...['transport', 'store', 'telemetry/counters', 'base'].map((folder) => ({
    name: `zod in ${folder}`,
    files: { [`src/${folder}/x.ts`]: "import { z } from 'zod'" },
    refused: /zod belongs to/,
  })),
  {
    name: 'threads outside the pool',
    files: { 'src/http/x.ts': "import { Worker } from 'node:worker_threads'" },
    refused: /node:worker_threads belongs to/,
  },
  {
    name: 'a cluster outside the supervisor',
    files: { 'src/process/x.ts': "import cluster from 'node:cluster'" },
    refused: /node:cluster belongs to src\/process\/forked-worker\.ts/,
  },
  {
    name: 'a library nobody owns',
    files: { 'src/base/x.ts': "import chalk from 'chalk'" },
    refused: /chalk has no owner/,
  },
  {
    name: 'a cycle of two',
    files: { 'src/base/a.ts': "import './b.js'", 'src/base/b.ts': "import './a.js'" },
    refused: /import cycle: src\/base\/a\.ts -> src\/base\/b\.ts -> src\/base\/a\.ts/,
  },
  {
    name: 'a cycle of three behind an entrance',
    files: {
      'src/command-line.ts': "import './base/a.js'",
      'src/base/a.ts': "import './b.js'",
      'src/base/b.ts': "export * from './c.js'",
      'src/base/c.ts': "import type { A } from './a.js'",
    },
    refused: /import cycle: src\/base\/a\.ts -> src\/base\/b\.ts -> src\/base\/c\.ts/,
  },
  {
    name: 'a cycle of types alone',
    files: {
      'workers/a.ts': "import type { B } from './b.js'",
      'workers/b.ts': "import type { A } from './a.js'",
    },
    refused: /import cycle: workers/,
  },
  {
    name: 'a file that imports itself',
    files: { 'src/base/a.ts': "import './a.js'" },
    refused: /import cycle/,
  },
  {
    name: 'a drawer as a file',
    files: { 'src/http/utils.ts': '' },
    refused: /"utils" is a drawer's name/,
  },
  {
    name: 'a drawer as a folder',
    files: { 'src/http/common/x.ts': '' },
    refused: /"common" is a drawer's name/,
  },
  {
    name: 'a drawer with a label',
    files: { 'src/cpu-pool/pool-manager.ts': '' },
    refused: /"pool-manager" is a drawer's name/,
  },
  {
    name: 'a file that is not in kebab case',
    files: { 'src/http/bodyReader.ts': '' },
    refused: /"bodyReader" is not kebab-case/,
  },
  {
    name: 'a default export',
    files: { 'src/http/x.ts': '\nexport default 1' },
    refused: /x\.ts:2: exports a default/,
  },
  {
    name: 'a default function',
    files: { 'src/http/x.ts': 'export default function x() {}' },
    refused: /exports a default/,
  },
  {
    name: 'a default export by another name',
    files: { 'src/http/x.ts': 'const a = 1\nexport { a as default }' },
    refused: /x\.ts:2: exports a default/,
  },
  ...[
    'process.env.HOME',
    "process['env'].HOME",
    'globalThis.process.env',
    'const { env } = process',
    "import { env } from 'node:process'",
    'const all = process.env',
  ].map((text) => ({
    name: `a reader of the environment: ${text}`,
    files: { 'src/http/x.ts': text },
    refused: /process\.env is read outside src\/config/,
  })),
  {
    name: 'command-line.ts when it reads the environment itself',
    files: { 'src/command-line.ts': 'if (process.env.DEBUG) start()' },
    refused: /process\.env is read/,
  },
  {
    name: 'a loader that reads the environment',
    files: { 'src/transport/native-server.ts': 'const size = Number(process.env.UWS_HTTP_MAX_HEADERS_SIZE)' },
    refused: /process\.env is read/,
  },
  {
    name: 'another writer of the environment',
    files: { 'src/process/supervisor.ts': "process.env.A = '1'" },
    refused: /process\.env is written/,
  },
]

test('the checker refuses', async (t) => {
  for (const { name, files, refused } of BAD) {
    const found = breaches(files)
    t.equal(found.length, 1, `${name}: one breach`)
    t.match(found[0], refused, name)
  }
})

const GOOD: Readonly<Record<string, Sources>> = {
  'two files of one feature': { 'src/features/items/x.ts': "import { Item } from './schema.js'" },
  'a feature and what stands below it': {
    'src/features/items/x.ts': [
      "import { z } from 'zod'",
      "import { Fault } from '../../base/fault.js'",
      "import { json } from '../../http/reply.js'",
      "import type { ItemStore } from '../../store/store.js'",
      "import { readFileSync } from 'node:fs'",
    ].join('\n'),
  },
  'http and the types of the border': {
    'src/http/x.ts': "import type { Call } from '../transport/exchange.js'",
  },
  'types of uWebSockets.js inside the transport': {
    'src/transport/x.ts': "import type { HttpResponse } from 'uWebSockets.js'",
  },
  'composition, what it composes and what it says to the supervisor': {
    'src/compose/x.ts':
      "import { endpoints } from '../app.js'\nimport type { LedgerMessageToSupervisor } from '../process/ipc/ledger-messages.js'",
  },
  'the pool that runs its default': { 'workers/hash-thread.ts': 'export default function run() {}' },
  'a diamond, which is no cycle': {
    'src/base/a.ts': "import './b.js'\nimport './c.js'",
    'src/base/b.ts': "import './d.js'",
    'src/base/c.ts': "import './d.js'",
    'src/base/d.ts': '',
  },
  'the stated exceptions': {
    'src/command-line.ts': 'loadConfig(process.env)',
    'src/transport/native-server.ts': "process.env.UWS_HTTP_MAX_HEADERS_SIZE = '1'",
  },
}

test('the checker lets pass', async (t) => {
  for (const [name, files] of Object.entries(GOOD)) t.same(breaches(files), [], name)
})
