/** What commands with a table of subcommands have in common. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { hashOf } from '../support/data/accounts.js'
import { foundedStore } from '../support/data/founded-store.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { runFederation, runKeys } from './run-command.js'

type Misuse = readonly (readonly [args: readonly string[], complaint: string])[]

const KEYS_MISUSED: Misuse = [
  [[], 'keys needs a word: list, create, disable, enable, delete'],
  [['rename'], 'there is no command "keys rename": there are list, create,'],
  [['__proto__'], 'there is no command "keys __proto__"'],
  [['constructor'], 'there is no command "keys constructor"'],
  [['list', 'all'], 'keys list takes options only'],
  [['list', '--name', 'x'], "Unknown option '--name': keys list takes --organization"],
  [['create'], 'a key needs a --name'],
  [['create', '--name', ''], 'a key needs a --name'],
  [['create', '--name', 'x'.repeat(257)], 'a key needs a --name'],
  [['create', '--name', 'x', '--limit', '-1'], "Option '--limit' argument is ambiguous"],
  [['create', '--name', 'x', '--limit=-1'], '--limit must be dollars'],
  [['create', '--name', 'x', '--limit', '1e3'], '--limit must be dollars'],
  [['create', '--name', 'x', '--limit', '9000001'], '--limit must be dollars'],
  [['create', '--name', 'x', '--expires', 'tomorrow'], '--expires must be a date-time'],
  [['create', '--name', 'x', '--expires', '2030-13-01T00:00:00Z'], '--expires must be a date-time'],
  [['create', '--name', 'x', '--user', ''], '--user must not be empty'],
  [['create', '--name', 'x', '--management', '--user', 'u'], 'a management key belongs to an organization'],
  [['create', '--name', 'x', '--secret', 'y'], "Unknown option '--secret'"],
  [['disable'], 'keys disable takes one hash'],
  [['disable', hashOf(1), hashOf(2)], 'keys disable takes one hash'],
  [['disable', 'abc'], 'a hash is given with 8 characters or more'],
]

const FEDERATION_MISUSED: Misuse = [
  [[], 'federation needs a word: issuers list, issuers create,'],
  [['issuers'], 'there is no command "federation issuers"'],
  [['issuers', 'rename'], 'there is no command "federation issuers rename"'],
  [['__proto__'], 'there is no command "federation __proto__"'],
  [['issuers', 'create'], 'federation issuers create needs --name'],
  [['issuers', 'create', '--name', 'x'], 'federation issuers create needs --url'],
  [['issuers', 'create', '--name', '', '--url', 'x'], 'an issuer needs a --name'],
  [['issuers', 'list', 'all'], 'federation issuers list takes options only'],
  [['issuers', 'list', '--name', 'x'], "Unknown option '--name'"],
  [['policies', 'create', '--issuer', 'x'], 'federation policies create needs --audience'],
  [['policies', 'pause'], 'federation policies pause takes one id'],
  [['test'], 'federation test takes one id'],
  [['audit', '--trail', 'all'], '--trail must be one of changes, issued, refused'],
  [['audit', '--limit', '0'], '--limit must be an integer'],
]

const COMMANDS = [
  ['keys', { misused: KEYS_MISUSED, listWords: ['list'], run: runKeys }],
  ['federation', { misused: FEDERATION_MISUSED, listWords: ['issuers', 'list'], run: runFederation }],
] as const

for (const [name, { misused, listWords, run }] of COMMANDS) {
  const usage = `usage: sluice ${name} <command>`

  test(`${name}: what is no command is told with the usage and exit code 2, and changes nothing`, async (t) => {
    const { folder, store } = await foundedStore(t)
    const before = store.accounts.keys()
    for (const [args, complaint] of misused) {
      const { code, stdout, stderr } = await run(folder, args)
      t.strictSame({ code, stdout }, { code: 2, stdout: '' }, args.join(' '))
      t.ok(stderr.startsWith(`sluice: ${complaint}`), stderr)
      t.match(stderr, usage)
    }
    t.strictSame(store.accounts.keys(), before)
  })

  test(`${name}: help prints the usage; without a store that is told, and none is made`, async (t) => {
    const folder = join(tempFolder(t), 'none')
    for (const words of [['help'], ['--help'], [...listWords, '-h']]) {
      const { code, stdout } = await run(folder, words)
      t.equal(code, 0)
      t.ok(stdout.startsWith(usage))
    }
    const { code, stderr } = await run(folder, listWords)
    t.equal(code, 1)
    t.match(stderr, `there is no store in ${folder}`)
    t.notOk(existsSync(folder))
  })
}
