/** The unit of systemd, judged by systemd. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'

const FILE = 'examples/machine/sluice.service'
const MOST_EXPOSED = 2.0
const missing =
  spawnSync('systemd-analyze', ['--version']).error !== undefined && 'systemd-analyze is not installed here'

test('systemd takes the unit as it is, and calls it well locked up', { skip: missing }, async (t) => {
  const unit = readFileSync(FILE, 'utf8')
  // Systemd looks for the program, and this machine may have its Node elsewhere.
  const place = join(tempFolder(t), 'sluice.service')
  writeFileSync(place, unit.replace('/usr/bin/node', process.execPath))
  const verified = spawnSync('systemd-analyze', ['verify', '--man=no', place], { encoding: 'utf8' })
  t.equal(verified.status, 0, verified.stderr)
  t.notMatch(verified.stderr, 'sluice.service', 'no line of it is unknown or ignored')
  const judged = spawnSync('systemd-analyze', ['security', '--offline=true', '--no-pager', FILE], {
    encoding: 'utf8',
  })
  const [, exposure = ''] = /Overall exposure level for sluice\.service: ([\d.]+)/.exec(judged.stdout) ?? []
  t.ok(exposure !== '' && Number(exposure) <= MOST_EXPOSED, judged.stdout)
})

test('a drain has its time before systemd kills, and it is the server that gets the signal', async (t) => {
  const unit = readFileSync(FILE, 'utf8')
  t.match(unit, /^ExecStart=\S+\/node \S+\/dist\/src\/main\.js serve$/m, 'npx would not pass it on')
  t.match(unit, /^KillMode=mixed\nKillSignal=SIGTERM$/m)
  t.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > 10)
  const settings = Object.fromEntries(
    [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
  )
  const [, folder] = /^StateDirectory=(\w+)$/m.exec(unit) ?? []
  t.equal(settings.SLUICE_DATA_DIR, `/var/lib/${folder}`)
})

test('threads of the pool may stand behind those that answer', async (t) => {
  const filters = [...readFileSync(FILE, 'utf8').matchAll(/^SystemCallFilter=(.*)$/gm)].map(
    ([, value]) => value,
  )
  t.match(filters.at(-2), /^~.*@resources/)
  t.equal(filters.at(-1), 'setpriority', 'it is one of @resources, and what comes later counts')
})
