import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice } from '../support/servers/server-process.js'

for (const word of ['help', '--help', '-h']) {
  test(`${word} prints every command and ends well`, async (t) => {
    const { code, stdout, stderr } = await runSluice(t, [word])
    t.equal(code, 0)
    for (const command of ['serve', 'check-config', 'openapi', 'help']) t.match(stdout, `\n  ${command} `)
    t.equal(stderr, '')
  })
}

for (const command of ['server', '--version', '', 'toString', '__proto__', 'constructor']) {
  test(`"${command}" is no command: a sentence, the usage, and exit code 2`, async (t) => {
    const { code, stdout, stderr } = await runSluice(t, [command])
    t.equal(code, 2)
    t.equal(stdout, '')
    t.match(stderr, `sluice: there is no command "${command}"\n`)
    t.match(stderr, 'usage: sluice <command>')
  })
}

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
