import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice, serve } from '../support/servers/server-process.js'

const MAIN = fileURLToPath(new URL('../../src/main.js', import.meta.url))

const COMMANDS = [
  'serve',
  'init',
  'check-config',
  'health',
  'config-schema',
  'keys',
  'federation',
  'explain',
  'drill',
  'record',
  'tape',
  'migrate',
  'fleet',
  'import',
  'export',
  'openapi',
  'version',
  'help',
]

for (const word of ['help', '--help', '-h']) {
  test(`${word} prints every command and ends well`, async (t) => {
    const { code, stdout, stderr } = await runSluice(t, [word])
    t.equal(code, 0)
    for (const command of COMMANDS) t.match(stdout, `\n  ${command} `)
    t.equal(stderr, '')
  })
}

/** Without a setting that is good: who asks for help may not have any yet. */
const SPOILT = { PORT: 'none' }

test('every command tells what it does, on standard output and whatever the settings', async (t) => {
  for (const command of COMMANDS) {
    for (const words of [
      [command, '--help'],
      [command, '-h'],
      ['help', command],
    ]) {
      const { code, stdout, stderr } = await runSluice(t, words, { env: SPOILT })
      t.strictSame({ code, stderr }, { code: 0, stderr: '' }, words.join(' '))
      t.match(stdout, command === 'help' ? 'usage: sluice <command>' : `usage: sluice ${command}`)
    }
  }
  for (const words of [
    ['keys', 'create', '--help'],
    ['federation', 'issuers', 'list', '-h'],
  ]) {
    const { code, stdout } = await runSluice(t, words, { env: SPOILT })
    t.equal(code, 0, words.join(' '))
    t.match(stdout, `usage: sluice ${words[0]} <command>`)
  }
})

for (const command of ['server', '--lob', '', 'toString', '__proto__', 'constructor']) {
  test(`"${command}" is no command: a sentence, the usage, and exit code 2`, async (t) => {
    const { code, stdout, stderr } = await runSluice(t, [command])
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, `sluice: there is no command "${command}"\n`)
    t.match(stderr, 'usage: sluice <command>')
  })
}

const MISUSED = [
  [['serve', '--port', '1'], "Unknown option '--port': serve takes --lab"],
  [['check-config', 'sluice.yaml'], "Unexpected argument 'sluice.yaml'"],
  [['openapi', '--yaml'], "Unknown option '--yaml': openapi takes no options"],
  [['openapi', '--lab'], "Unknown option '--lab': openapi takes no options"],
  [['explain', '--url', 'x'], "Unknown option '--url': explain takes --server, --json"],
  [['drill', '--fast'], "Unknown option '--fast': drill takes --only,"],
  [['init', '--name', 'x'], "Unknown option '--name': init takes --provider,"],
  [['keys'], 'keys needs a word: list, create, disable, enable, delete'],
] as const

test('what a command does not take is refused by name, with what it takes', async (t) => {
  for (const [words, complaint] of MISUSED) {
    const { code, stdout, stderr } = await runSluice(t, words)
    t.strictSame({ code, stdout }, { code: 2, stdout: '' }, words.join(' '))
    t.ok(stderr.startsWith(`sluice: ${complaint}`), stderr)
    t.match(stderr, `usage: sluice ${words[0]}`)
  }
})

test('the version is that of the package, and of the interface as the document tells it', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8'))
  for (const word of ['version', '--version', '-v']) {
    const { code, stdout } = await runSluice(t, [word])
    t.strictSame({ code, stdout }, { code: 0, stdout: `sluice ${version} (interface 2.0)\n` })
  }
  const { info } = JSON.parse((await runSluice(t, ['openapi'])).stdout)
  t.equal(info.version, '2.0')
  t.match(info.description, `Sluice ${version}`)
})

test('a reader that has gone is no failure: no stack, whatever the command', async (t) => {
  const folder = tempFolder(t)
  await (await serve(t, {}, folder)).server.stop()
  for (const words of [
    'config-schema',
    'openapi',
    'help',
    'drill --list',
    'keys list',
    'federation keys list',
  ]) {
    const shell = `exec 3> >(true); wait $!; "$0" "$1" ${words} >&3; echo "left $?" >&2`
    const run = spawnSync('bash', ['-c', shell, process.execPath, MAIN], { cwd: folder, encoding: 'utf8' })
    t.equal(run.stderr, 'left 0\n', words)
  }
})

test('commands on a store that is damaged say so in one sentence', async (t) => {
  for (const words of [
    ['keys', 'list'],
    ['federation', 'keys', 'list'],
  ]) {
    const folder = tempFolder(t)
    mkdirSync(join(folder, 'data'))
    writeFileSync(join(folder, 'data', 'data.mdb'), Buffer.alloc(20_000, 'no database'))
    const { code, stdout, stderr } = await runSluice(t, words, { folder })
    t.strictSame({ code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /^sluice: the database \S+data\.mdb is damaged [^\n]+\n$/)
  }
})

test('commands on a store that cannot be opened say so in one sentence', async (t) => {
  const folder = tempFolder(t)
  await (await serve(t, {}, folder)).server.stop()
  rmSync(join(folder, 'data', 'lock.mdb'))
  mkdirSync(join(folder, 'data', 'lock.mdb'))
  for (const words of [
    ['keys', 'list'],
    ['federation', 'keys', 'list'],
  ]) {
    const { code, stdout, stderr } = await runSluice(t, words, { folder })
    t.strictSame({ code, stdout }, { code: 1, stdout: '' })
    t.match(stderr, /^sluice: [^\n]+\n$/)
  }
})

test('openapi prints the document, whatever the settings, and leaves nothing behind', async (t) => {
  const folder = tempFolder(t)
  const { code, stdout, stderr } = await runSluice(t, ['openapi'], { folder })
  t.equal(code, 0)
  t.equal(stderr, '')
  const document = JSON.parse(stdout)
  t.match(document.openapi, /^3\.1\./)
  t.match(document.info, { title: 'Load-test practice API', version: '2.0' })
  t.ok(document.paths['/api/v1/items/{item_id}'].get)
  t.notOk(existsSync(join(folder, 'data')), 'no store was opened')
})

test('check-config says that all is well', async (t) => {
  const folder = tempFolder(t)
  const { code, stdout, stderr } = await runSluice(t, ['check-config'], { folder, env: { PORT: '1' } })
  t.equal(code, 0)
  t.equal(stdout, 'all settings are good\n')
  t.equal(stderr, '')
  t.notOk(existsSync(join(folder, 'data')), 'nothing was run')
})

for (const command of ['serve', 'check-config']) {
  test(`${command} names every bad setting with its source in one go, and ends with 2`, async (t) => {
    const folder = tempFolder(t)
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, 'seed_items: none\nsed_items: 1\n')
    const { code, stdout, stderr } = await runSluice(t, [command], {
      folder,
      env: {
        PORT: '70000',
        SLUICE_WORKERS: 'few',
        SLUICE_TLS_KEY: '/no/such/key.pem',
        SLUICE_TSL_CERT: '/no/such/cert.pem',
        SLUICE_CONFIG: file,
      },
    })
    t.equal(code, 2)
    t.equal(stdout, '')
    const lines = stderr.trimEnd().split('\n')
    for (const line of [
      'bad setting: environment variable SLUICE_TSL_CERT: there is no such setting',
      `bad setting: ${file}: sed_items: there is no such setting`,
      'bad setting: environment variable PORT: must be an integer from 0 to 65535',
      'bad setting: environment variable SLUICE_WORKERS: must be "auto" or an integer of at least 1',
      `bad setting: ${file}: seed_items: must be an integer`,
      'bad setting: environment variable SLUICE_TLS_KEY: must name a readable file',
    ]) {
      t.ok(lines.includes(line), line)
    }
    t.ok(
      lines.every((line) => line.startsWith('bad setting: ')),
      'and says nothing else',
    )
  })
}

test('half of TLS is refused', async (t) => {
  const folder = tempFolder(t)
  const pem = join(folder, 'some.pem')
  writeFileSync(pem, '')
  const { code, stderr } = await runSluice(t, ['serve'], { folder, env: { SLUICE_TLS_CERT: pem } })
  t.equal(code, 2)
  t.equal(stderr, 'bad setting: SLUICE_TLS_KEY and SLUICE_TLS_CERT: TLS needs both files or neither\n')
})

for (const [about, name, text] of [
  ['that is not there', 'absent.yaml', null],
  ['that is no YAML', 'broken.yaml', 'port: [1'],
  ['that holds a list', 'list.json', '[1]'],
] as const) {
  test(`a configuration file ${about} is refused by its name`, async (t) => {
    const folder = tempFolder(t)
    const path = join(folder, name)
    if (text !== null) writeFileSync(path, text)
    const { code, stdout, stderr } = await runSluice(t, ['serve'], { folder, env: { SLUICE_CONFIG: path } })
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, `bad setting: ${path}: `)
    t.equal(stderr.trimEnd().split('\n').length, 1)
  })
}
