/** In which account at a provider the files of a caller lie. */
import type { CallerKey } from '../catalog/caller-key.js'
import type { Catalog } from '../catalog/catalog.js'
import type { AccountFiles } from '../providers/port/provider.js'

/** Kinds of providers whose files callers may have. */
export const FILE_PROVIDERS = ['openai', 'anthropic'] as const

export interface OwnFileAccount {
  readonly providerName: string
  readonly files: AccountFiles
}

/**
 * The account of one key, so that a file is found where it was put: at the provider that is named like its kind, else at
 * the first one of that kind by short name, the first of the keys that are there for everything and go first. Null where
 * none of the keys is for such a provider.
 */
export function ownFileAccount(
  { providers }: Pick<Catalog, 'providers'>,
  keys: readonly CallerKey[],
  kind: (typeof FILE_PROVIDERS)[number],
): OwnFileAccount | null {
  const ofKind = providers.filter((each) => each.kind === kind)
  const named = ofKind.filter(({ slug }) => slug === kind)
  for (const { slug, name, callerKeys } of [...named, ...ofKind]) {
    const own = keys.filter(({ provider, models }) => provider === slug && models === null)
    const key = own.find(({ priority }) => priority === 'first') ?? own[0]
    if (key === undefined) continue
    const files = callerKeys?.providerUnder(key).provider.files
    if (files !== undefined) return { providerName: name, files }
  }
  return null
}
