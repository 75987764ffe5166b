import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'tap'
import { runShell } from '../support/clients/shell.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { FAKE_ANSWER, fakeProvider, streamedText } from '../support/providers/fake-provider.js'
import { API_KEY, runSluice, serve } from '../support/servers/server-process.js'

const FILES = readdirSync('examples').filter((name) => name.endsWith('.yaml'))

test('there is an example for each kind of provider that people have, and a line about each', async (t) => {
  t.strictSame(FILES, ['anthropic.yaml', 'gateway.yaml', 'ollama.yaml', 'openai.yaml', 'vllm.yaml'])
  const page = readFileSync('examples/README.md', 'utf8')
  for (const name of FILES) t.match(page, `| [${name}](${name}) |`)
})

for (const name of FILES) {
  test(`${name} is a good configuration, and its call gets a streamed answer`, async (t) => {
    const text = readFileSync(join('examples', name), 'utf8')
    const [, variable = ''] = /^ {2}\w+: \{.* api_key_env: (\w+)/m.exec(text) ?? []
    const env = { SLUICE_CONFIG: '', ...(variable !== '' && { [variable]: 'sk-of-the-provider' }) }
    const folder = tempFolder(t)
    const file = join(folder, name)
    writeFileSync(file, text)
    const checked = await runSluice(t, ['check-config'], { folder, env: { ...env, SLUICE_CONFIG: file } })
    t.equal(checked.stdout, 'all settings are good\n', checked.stderr)

    const provider = await fakeProvider(t, [], variable === '' ? null : 'sk-of-the-provider')
    const [, origin = ''] = /base_url: (https?:\/\/[^/ ,}]+)/.exec(text) ?? []
    writeFileSync(file, text.replace(origin, provider.origin))
    const { url } = await serve(t, { ...env, SLUICE_CONFIG: file, SLUICE_WORKERS: '1' }, folder)
    const call = readComment(text).replace('http://127.0.0.1:8080', url)
    const { code, stdout, stderr } = await runShell(call, { folder, env: { KEY: API_KEY } })
    t.equal(code, 0, stderr)
    t.equal(streamedText(stdout), FAKE_ANSWER, stdout)
    t.equal(provider.requests.length, 1)
  })
}

/** The command in the head of an example. */
function readComment(text: string): string {
  const lines = text.split('\n').filter((line) => /^# {3}/.test(line))
  return lines.map((line) => line.slice(2)).join('\n')
}
