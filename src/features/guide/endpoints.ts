/** The documentation as a site below /docs/guide, under its version: the files that the build has made of `docs`. */
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { BUILT } from '../../base/built-files.js'
import { VERSION } from '../../base/version.js'
import { ASK_AGAIN, BuiltFile, FILE_HEADERS, KEEP, once, strictPolicy } from '../../http/built-file.js'
import { gateway } from '../../http/dialects/gateway.js'
import { type Endpoint, endpointGroup, type HeaderList, type Reply } from '../../http/endpoint.js'
import { anyText } from '../../http/params.js'

const operation = endpointGroup({ tag: 'Service', dialect: gateway })

const ROOT = '/docs/guide'
/** Pages stand at the root of a version or in a folder there. */
const PATHS = ['', '/', '/{name}', '/{folder}/', '/{folder}/{name}'] as const

/**
 * Addresses without a version lead to the page of this one; those of another version are not there. Everything is read
 * at the first request, so a server goes on with its own files when others are built.
 */
export function guideEndpoints(): Endpoint[] {
  const site = once(() => new Site(new URL(`guide/${VERSION}/`, BUILT)))
  const endpoint = (base: string, path: string): Endpoint => {
    const names = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
    // Relative, as a proxy may put all of it behind a prefix.
    const depth = `${base}${path}`.split('/').length - ROOT.split('/').length
    const up = depth === 0 ? 'guide/' : '../'.repeat(depth - 1)
    return operation('guide', `GET /${base.slice(1)}${path}`, {
      summary: 'The documentation',
      hidden: true,
      headers: FILE_HEADERS,
      params: Object.fromEntries(names.map((name) => [name, anyText])),
      replies: {
        200: { description: 'A page or a file of it', mediaType: 'text/html; charset=utf-8' },
        302: { description: 'The page of this version' },
        404: { description: 'A page that leads to the others', mediaType: 'text/html; charset=utf-8' },
      },
      handle: ({ params }, call) => {
        const asked = names.map((name) => params[name]!).join('/')
        const found =
          (base === ROOT ? null : site().file(asked)) ?? site().redirect(asked, up) ?? site().unknown(up)
        return found instanceof BuiltFile ? found.reply(call) : found
      },
    })
  }
  return [ROOT, `${ROOT}/${VERSION}`].flatMap((base) => PATHS.map((path) => endpoint(base, path)))
}

const PAGE_HEADERS: HeaderList = [
  ...strictPolicy(["img-src 'self' data:", "connect-src 'none'"], 'guide'),
  ...ASK_AGAIN,
]

class Site {
  readonly #folder: URL
  /** By path; those that were asked for have been read. */
  readonly #files: ReadonlyMap<string, () => BuiltFile>
  /** By the way from where it is shown to the versions. */
  readonly #unknown = new Map<string, BuiltFile>()

  constructor(folder: URL) {
    this.#folder = folder
    const paths = readdirSync(fileURLToPath(folder), { recursive: true, encoding: 'utf8' }).filter((path) =>
      /\.\w+$/.test(path),
    )
    this.#files = new Map(
      paths
        .filter((path) => path !== UNKNOWN)
        .map((path) => [
          path,
          once(() => new BuiltFile(path, this.#read(path), path.endsWith('.html') ? PAGE_HEADERS : KEEP)),
        ]),
    )
  }

  file(path: string): BuiltFile | null {
    return this.#files.get(path)?.() ?? null
  }

  /** To the page that is meant by a name without its end, or with that of its source; `up` leads to the versions. */
  redirect(asked: string, up: string): Reply | null {
    const name = asked.replace(/(?:\.html|\.md|\/)$/, '')
    const page = [`${name}.html`, name === '' ? 'index.html' : `${name}/index.html`].find((each) =>
      this.#files.has(each),
    )
    if (page === undefined) return null
    return { status: 302, headers: [['Location', `${up}${VERSION}/${page}`], ...ASK_AGAIN], body: null }
  }

  unknown(up: string): BuiltFile {
    let page = this.#unknown.get(up)
    if (page === undefined) {
      const markup = this.#read(UNKNOWN).toString().replaceAll('{root}', `${up}${VERSION}/`)
      page = new BuiltFile(UNKNOWN, Buffer.from(markup), PAGE_HEADERS, 404)
      this.#unknown.set(up, page)
    }
    return page
  }

  #read(path: string): Buffer {
    return readFileSync(new URL(path, this.#folder))
  }
}

/** `{root}` in it stands for the way to the root of the site. */
const UNKNOWN = '404.html'
