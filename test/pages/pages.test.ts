/** Every block of the documentation does what a reader expects of it, in the order of its page. */
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { loadConfig } from '../../src/compose/configuration.js'
import { InvalidConfigError } from '../../src/config/config.js'
import { tempFolder } from '../support/data/temp-folder.js'
import { type LabServer, startLab } from '../support/servers/lab-server.js'
import { freePort } from '../support/servers/listen.js'
import { API_KEY, MANAGEMENT_KEY } from '../support/servers/server-process.js'
import { blocksOf, commandsOf, idsPrinted, isShownRefused, type PageBlock } from './page-blocks.js'
import { PageShell } from './page-shell.js'

const AT_ROOT = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md']
const DOCS = readdirSync('docs', { recursive: true, encoding: 'utf8' }).sort()
const PAGES = [
  ...AT_ROOT,
  'bench/RESULTS.md',
  'examples/README.md',
  ...DOCS.map((name) => `docs/${name}`).filter((path) => path.endsWith('.md')),
]
const CLONE = { root: resolve('.'), main: fileURLToPath(new URL('../../src/main.js', import.meta.url)) }
const COMMAND_LIMIT_MS = 90_000
/** What a reader types; it belongs into a block that is run. */
const TYPED = /^(?:\$ |(?:curl|npm|npx|node) )/m

const texts = new Map(PAGES.map((path) => [path, readFileSync(path, 'utf8')]))

test('blocks that are not run say why', async (t) => {
  for (const [path, text] of texts) {
    for (const { line, language, reason, text: block } of blocksOf(text)) {
      if (reason !== null) t.comment(`${path}:${line} is not run: ${reason}`)
      if (language === '') t.notMatch(block, TYPED, `${path}:${line} says that it is sh or console`)
    }
  }
})

test('configurations are good', async (t) => {
  const folder = tempFolder(t)
  const file = join(folder, 'sluice.yaml')
  for (const [path, text] of texts) {
    for (const { line, language, text: block, reason } of blocksOf(text)) {
      if (language !== 'yaml' || reason !== null) continue
      writeFileSync(file, withTapesIn(folder, block))
      const variables = [...block.matchAll(/api_key_env: (\w+)/g)].map(([, name = '']) => [name, 'sk-1'])
      const faults = await faultsOf({ SLUICE_CONFIG: file, ...Object.fromEntries(variables) })
      t.strictSame(faults, [], `${path}:${line}`)
    }
  }
})

/** The block with the tapes and folders that it names made in a folder and named there: a reader has them, no one else. */
function withTapesIn(folder: string, block: string): string {
  return block.replace(/\b(file|folder): (\.\/[\w.-]+)/g, (_found, kind: string, name: string) => {
    const path = join(folder, name)
    if (kind === 'file') writeFileSync(path, '')
    else mkdirSync(path, { recursive: true })
    return `${kind}: ${path}`
  })
}

async function faultsOf(environment: Readonly<Record<string, string>>): Promise<unknown> {
  try {
    await loadConfig(environment)
    return []
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.faults
    throw error
  }
}

test('commands and programs run as they are printed', async (t) => {
  const folder = tempFolder(t)
  for (const name of ['node_modules', 'dist']) symlinkSync(resolve(name), join(folder, name))
  const settings = { SLUICE_DATA_DIR: join(folder, 'data'), SLUICE_ALLOW_LOOPBACK_ISSUERS: 'on' }
  const server = await startLab(t, settings)
  const replaced = await addressesOf(server)
  for (const [path, text] of texts) {
    const blocks = blocksOf(text).filter(({ reason }) => reason === null)
    if (!blocks.some(({ language }) => ['sh', 'console', 'js'].includes(language))) continue
    const shell = new PageShell(folder, { ...settings, KEY: API_KEY, MANAGEMENT_KEY }, CLONE)
    t.after(() => shell.close())
    const reader = new PageReader(t, path, shell, { folder, replaced: [...replaced] })
    for (const block of blocks) await reader.read(block)
  }
})

/** What the pages call the server and what stands beside it, and where that is now. */
async function addressesOf({ port, labUrl }: LabServer): Promise<[string, string][]> {
  return [
    ['127.0.0.1:8080', `127.0.0.1:${port}`],
    ['--port 8080', `--port ${port}`],
    ['127.0.0.1:8081', new URL(labUrl).host],
    ['9900', String(await freePort())],
    ['OPENAI_API_KEY=sk-', 'OPENAI_API_KEY=sk-of-the-reader'],
  ]
}

interface Desk {
  /** Where the reader works. */
  readonly folder: string
  /** What stands in the page, and what it is for this reader. */
  readonly replaced: [string, string][]
}

class PageReader {
  readonly #t: Test
  readonly #path: string
  readonly #shell: PageShell
  readonly #desk: Desk

  constructor(t: Test, path: string, shell: PageShell, desk: Desk) {
    this.#t = t
    this.#path = path
    this.#shell = shell
    this.#desk = desk
  }

  async read(block: PageBlock): Promise<void> {
    if (block.language === 'js' || block.file !== null) return this.#readFile(block)
    if (block.language !== 'sh' && block.language !== 'console') return
    for (const { line, command, printed } of commandsOf(block)) await this.#run(line, command, printed)
  }

  /** What has a file name of its own is only written: the page goes on to say what is done with it. */
  async #readFile({ line, text, file }: PageBlock): Promise<void> {
    const name = file ?? `line-${line}.mjs`
    writeFileSync(join(this.#desk.folder, name), this.#current(text))
    if (file === null) await this.#run(line, `node ${name}`, '')
  }

  async #run(line: number, command: string, printed: string): Promise<void> {
    const { code, output } = await this.#shell.run(this.#current(command), COMMAND_LIMIT_MS)
    const place = `${this.#path}:${line}`
    const isRefused = isShownRefused(printed)
    const seen = { command, output: output.slice(0, 2000) }
    this.#t.equal(code !== 0, isRefused, `${place} is ${isRefused ? 'refused' : 'done'}`, seen)
    const [shown] = /^[[{]"?\w*"?/m.exec(printed) ?? []
    if (shown !== undefined) this.#t.ok(output.includes(shown), `${place} prints ${shown}…`, seen)
    this.#desk.replaced.unshift(...idsPrinted(printed, output))
  }

  /** The text with what the reader has instead of what the page shows; a shown beginning stands for the whole. */
  #current(text: string): string {
    const now = new Map([...this.#desk.replaced].reverse())
    // In one go: what was put in is not looked at again.
    const shown = [...now.keys()]
      .sort((a, b) => b.length - a.length)
      .map((each) => `${each.replace(/[.]/g, '\\.')}…?`)
    return text.replace(
      new RegExp(shown.join('|'), 'g'),
      (found) => now.get(found.replace(/…$/, '')) ?? found,
    )
  }
}
