/** What is optional is loaded where it is configured, and nowhere else. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { tempFolder } from '../support/data/temp-folder.js'
import { runSluice, serve } from '../support/servers/server-process.js'

const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`

/** Options of Node with which a program and its children write the name of every package they import into a file. */
function tellingOptions(file: string): string {
  const resolve = `
    import { appendFileSync } from 'node:fs'
    export function resolve(name, context, next) {
      if (/^[@a-z]/i.test(name) && !/^[a-z]+:/.test(name)) appendFileSync(${JSON.stringify(file)}, name + '\\n')
      return next(name, context)
    }`
  const register = `import { register } from 'node:module'; register(${JSON.stringify(asModule(resolve))})`
  return `--import=${asModule(register)}`
}

function packagesTold(file: string): ReadonlySet<string> {
  return new Set(existsSync(file) ? readFileSync(file, 'utf8').split('\n') : [])
}

test('a machine that stands alone does not load the client of PostgreSQL', async (t) => {
  const file = join(tempFolder(t), 'packages')
  const { server } = await serve(t, { SLUICE_WORKERS: '1', NODE_OPTIONS: tellingOptions(file) })
  const client = await server.client()
  t.equal((await client.get('/api/v1/items')).status, 200)
  t.match(await server.stop(), { code: 0 })
  const packages = packagesTold(file)
  t.ok(packages.has('lmdb'), 'its workers have told what they load')
  t.notOk(packages.has('pg'))
})

test('a command that needs a database loads its client', async (t) => {
  const folder = tempFolder(t)
  const [file, key] = [join(folder, 'packages'), join(folder, 'sealing.key')]
  writeFileSync(key, Buffer.alloc(32, 1), { mode: 0o600 })
  const env = {
    SLUICE_SEALING_KEY_FILE: key,
    SLUICE_DATABASE_URL: 'postgres://sluice@127.0.0.1:1/sluice',
    NODE_OPTIONS: tellingOptions(file),
  }
  t.not((await runSluice(t, ['migrate', '--check'], { env })).code, 0)
  t.ok(packagesTold(file).has('pg'))
})
