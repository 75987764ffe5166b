/** The one table of who may call what (contract/directory 5): levels of access, and whom each lets in. */

/**
 * What an operation asks for. `anyone` needs no credential, `key` any key, `own-key` a key and no access token that
 * acts for one, `caller` a key or any session. `member` is for what is a person's own, `admin` for what concerns a
 * workspace, both by a role there. `management`, `operator` and `connection` ask for a credential of that kind.
 */
export type AccessLevel =
  | 'anyone'
  | 'key'
  | 'own-key'
  | 'caller'
  | 'member'
  | 'admin'
  | 'management'
  | 'operator'
  | 'connection'

/**
 * What a caller is to the table. `member` and `admin` are people with a role, by a personal key in the workspace of that
 * key, by a session in any workspace; `personal-key` is one whose person has no role. `connection` is the token of a
 * directory.
 */
export type CallerClass =
  | 'workspace-key'
  | 'access-token'
  | 'personal-key'
  | 'member'
  | 'admin'
  | 'management'
  | 'operator'
  | 'connection'

const MANAGERS = ['management', 'operator'] as const
const PEOPLE = ['member', 'admin'] as const
const CALLERS = ['workspace-key', 'access-token', 'personal-key', ...PEOPLE, ...MANAGERS] as const

/** Whom each level lets in; of `anyone`, who has a credential is let in like who has none. */
export const ADMITTED: Readonly<Record<Exclude<AccessLevel, 'anyone'>, readonly CallerClass[]>> = {
  key: CALLERS,
  'own-key': ['workspace-key', 'personal-key', ...PEOPLE, ...MANAGERS],
  caller: CALLERS,
  member: [...PEOPLE, ...MANAGERS],
  admin: ['admin', ...MANAGERS],
  management: MANAGERS,
  operator: ['operator'],
  connection: ['connection'],
}

/** Whether any key opens it: what is no key is no credential there, so such operations have no 403 of their own. */
export function isForAnyKey(access: AccessLevel): boolean {
  return access === 'key' || access === 'caller'
}

/** Whose sessions each level lets in: keys are for programs, so a person makes one instead. */
export function sessionsAdmitted(access: AccessLevel): readonly CallerClass[] {
  if (access === 'anyone' || access === 'connection') return []
  if (access === 'key' || access === 'own-key') return MANAGERS
  return ADMITTED[access === 'caller' ? 'member' : access]
}

/** Whether a row of the configuration may say otherwise (contract/decisions 3): not of what is no key's at all. */
export function isConfigurable(access: AccessLevel): boolean {
  return access !== 'operator' && access !== 'connection'
}
