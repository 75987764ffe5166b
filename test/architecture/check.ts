import { DEFAULT_EXPORTS, DRAWERS, ENVIRONMENT, FOLDERS, type FolderRule, LIBRARIES } from './rules.js'
import { type Import, type SourceFacts, sourceFacts } from './source-facts.js'

/** Path from the repository's root to text. */
export type Sources = Readonly<Record<string, string>>

/** Every breach of the architecture's rules, one sentence each; nothing when all is well. */
export function breaches(sources: Sources): string[] {
  const files = Object.entries(sources).map(([path, text]) => sourceFacts(path, text))
  return [...files.flatMap((file) => breachesOf(file)), ...cycles(files)]
}

/** The breaches of import directions alone, by other rows than those of the product. */
export function directionBreaches(sources: Sources, rules: readonly FolderRule[]): string[] {
  return Object.entries(sources).flatMap(([path, text]) => directions(sourceFacts(path, text), rules))
}

function breachesOf(file: SourceFacts): string[] {
  return [
    ...naming(file),
    ...directions(file),
    ...owners(file),
    ...defaultExports(file),
    ...environmentUses(file),
  ]
}

function naming({ path }: SourceFacts): string[] {
  const names = path.replace(/\.ts$/, '').split('/')
  return names.flatMap((name) => {
    if (name.split('-').some((word) => DRAWERS.has(word))) return [`${path}: "${name}" is a drawer's name`]
    return /^[a-z0-9]+(-[a-z0-9]+)*$/.test(name) ? [] : [`${path}: "${name}" is not kebab-case`]
  })
}

function directions(file: SourceFacts, rules = FOLDERS): string[] {
  const home = placeOf(file.path, rules)
  if (home === null) return [`${file.path}: stands in no place of the import table`]
  return file.imports
    .filter((found) => found.ours && !within(home.folder, found.to) && !allowed(home.rule, found))
    .map((found) => {
      const what = home.rule.may.some((a) => within(a.to, found.to)) ? 'more than types of' : ''
      return sentence(file, found, `may not import ${what} ${found.to}`)
    })
}

function allowed(rule: FolderRule, found: Import): boolean {
  return rule.may.some(({ to, typesOnly }) => within(to, found.to) && (typesOnly !== true || found.typesOnly))
}

/** The rule for a path, and the folder of its own whose files may import each other. */
function placeOf(path: string, rules: readonly FolderRule[]): { rule: FolderRule; folder: string } | null {
  for (const rule of rules) {
    const match = new RegExp(
      `^${rule.place.replace('*', '[^/]+')}${rule.place.endsWith('/') ? '' : '$'}`,
    ).exec(path)
    if (match !== null) return { rule, folder: match[0] }
  }
  return null
}

function within(place: string, path: string): boolean {
  return place === '' || (place.endsWith('/') ? path.startsWith(place) : path === place)
}

/** Node's own modules are free for all, except those that have an owner. */
function owners(file: SourceFacts): string[] {
  return file.imports.flatMap((found) => {
    if (found.ours) return []
    const rule = Object.hasOwn(LIBRARIES, found.to) ? LIBRARIES[found.to] : undefined
    if (rule === undefined) {
      return found.to.startsWith('node:') ? [] : [sentence(file, found, `${found.to} has no owner`)]
    }
    const places = [...rule.owners, ...(found.typesOnly ? (rule.types ?? []) : [])]
    if (places.some((place) => within(place, file.path))) return []
    return [sentence(file, found, `${found.to} belongs to ${rule.owners.join(', ')}`)]
  })
}

function defaultExports(file: SourceFacts): string[] {
  if (DEFAULT_EXPORTS.some(({ place }) => place === file.path)) return []
  return file.defaultExports.map((line) => `${file.path}:${line}: exports a default`)
}

function environmentUses(file: SourceFacts): string[] {
  return file.environment
    .filter(({ use }) => !ENVIRONMENT.some((known) => known.place === file.path && known.use === use))
    .map(({ use, line }) => `${file.path}:${line}: process.env is ${use} outside config.ts`)
}

function sentence(file: SourceFacts, { line, typesOnly }: Import, what: string): string {
  return `${file.path}:${line}: ${typesOnly ? '(types) ' : ''}${what.replaceAll('  ', ' ')}`
}

/** Each cycle once, as the way round it. A cycle of types counts as well: neither file can be understood alone. */
function cycles(files: readonly SourceFacts[]): string[] {
  const found = new Map<string, string>()
  const graph = new Map(files.map((file) => [file.path, file.imports.filter(({ ours }) => ours)]))
  const done = new Set<string>()
  const walk = (path: string, trail: readonly string[]): void => {
    const at = trail.indexOf(path)
    if (at >= 0) {
      const way = [...trail.slice(at), path]
      found.set([...way].sort().join(), `import cycle: ${way.join(' -> ')}`)
      return
    }
    if (done.has(path)) return
    for (const { to } of graph.get(path) ?? []) walk(to, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) walk(path, [])
  return [...found.values()]
}
