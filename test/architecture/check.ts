import {
  type Allowance,
  DEFAULT_EXPORTS,
  DRAWERS,
  ENVIRONMENT,
  FOLDERS,
  type FolderRule,
  LIBRARIES,
} from './rules.js'
import { type Import, type SourceFacts, sourceFacts } from './source-facts.js'

/** Path from the repository's root to text. */
export type Sources = Readonly<Record<string, string>>

/** Every breach of the architecture's rules, one sentence each; nothing when all is well. */
export function breaches(sources: Sources): string[] {
  const files = factsOf(sources)
  return [...files.flatMap((file) => breachesOf(file)), ...importCycles(files)]
}

/** The breaches of directions by other rows than those of the product, and the cycles. */
export function directionBreaches(sources: Sources, rules: readonly FolderRule[]): string[] {
  const files = factsOf(sources)
  return [...files.flatMap((file) => directions(file, rules)), ...importCycles(files)]
}

/**
 * What rows allow and no file needs: a place that nobody imports, or more than types where types would do. What is
 * in `src/base` is for all, so a place that uses its types may use the rest of it.
 */
export function idleAllowances(sources: Sources, rules: readonly FolderRule[]): string[] {
  const uses = new Map<FolderRule, Import[]>(rules.map((rule) => [rule, []]))
  for (const file of factsOf(sources)) {
    const home = placeOf(file.path, rules)
    if (home === null) continue
    const outward = file.imports.filter(({ ours, to }) => ours && !within(home.folder, to))
    uses.get(home.rule)?.push(...outward)
  }
  return [...uses].flatMap(([{ place, may }, imports]) =>
    may.flatMap(({ to, typesOnly }) => {
      const used = imports.filter((found) => within(to, found.to))
      if (used.length === 0) return [`${place}: nobody imports ${to}`]
      const needless = typesOnly !== true && to !== 'src/base/' && used.every((found) => found.typesOnly)
      return needless ? [`${place}: needs no more than types of ${to}`] : []
    }),
  )
}

/** Circles among the rows themselves: two places of which each may import the other, by whatever way. */
export function rowCircles(rules: readonly FolderRule[]): string[] {
  const reaches = ({ to }: Allowance, other: FolderRule): boolean =>
    within(to, other.place) || placeOf(to, rules)?.rule === other
  // Files of a folder may import what stands in folders within it.
  const reached = (rule: FolderRule): string[] =>
    rules
      .filter((other) => other !== rule)
      .filter((other) => within(rule.place, other.place) || rule.may.some((one) => reaches(one, other)))
      .map(({ place }) => place)
  return cycles(new Map(rules.map((rule) => [rule.place, reached(rule)]))).map((way) => `places: ${way}`)
}

function factsOf(sources: Sources): SourceFacts[] {
  return Object.entries(sources).map(([path, text]) => sourceFacts(path, text))
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
  const names = path.replace(/\.tsx?$/, '').split('/')
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

/**
 * The rule for a path, and the folder of its own whose files may import each other. Of two places, one within the
 * other, the inner one counts.
 */
function placeOf(path: string, rules: readonly FolderRule[]): { rule: FolderRule; folder: string } | null {
  let home: { rule: FolderRule; folder: string } | null = null
  for (const rule of rules) {
    const match = new RegExp(
      `^${rule.place.replace('*', '[^/]+')}${rule.place.endsWith('/') ? '' : '$'}`,
    ).exec(path)
    if (match !== null && match[0].length > (home?.folder.length ?? 0)) home = { rule, folder: match[0] }
  }
  return home
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
    .map(({ use, line }) => `${file.path}:${line}: process.env is ${use} outside src/config`)
}

function sentence(file: SourceFacts, { line, typesOnly }: Import, what: string): string {
  return `${file.path}:${line}: ${typesOnly ? '(types) ' : ''}${what.replaceAll('  ', ' ')}`
}

/** A cycle of types counts as well: neither file can be understood alone. */
function importCycles(files: readonly SourceFacts[]): string[] {
  const ours = ({ imports }: SourceFacts): string[] =>
    imports.flatMap((found) => (found.ours ? [found.to] : []))
  return cycles(new Map(files.map((file) => [file.path, ours(file)]))).map((way) => `import cycle: ${way}`)
}

/** Each cycle once, as the way round it; nothing exactly when there is none. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found = new Map<string, string>()
  const done = new Set<string>()
  const walk = (at: string, trail: readonly string[]): void => {
    const seen = trail.indexOf(at)
    if (seen >= 0) {
      const way = [...trail.slice(seen), at]
      found.set([...way].sort().join(), way.join(' -> '))
      return
    }
    if (done.has(at)) return
    for (const next of graph.get(at) ?? []) walk(next, [...trail, at])
    done.add(at)
  }
  for (const at of graph.keys()) walk(at, [])
  return [...found.values()]
}
