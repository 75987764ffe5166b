/** Who has signed in. The key itself is in the page only while it is being sent. */
import { signal } from '@preact/signals'
import { call, observers, type Problem } from '../api/call.ts'

/** What an operation asks for, in the words of `x-access`. */
export type Access = 'member' | 'admin' | 'management' | 'operator'

interface NamedRecord {
  readonly id: string
  readonly name: string
}

interface Session {
  readonly kind: 'management' | 'member' | 'personal' | 'workspace'
  readonly operator: boolean
  readonly organization: NamedRecord
  readonly member: { readonly id: string; readonly user_name: string } | null
  readonly workspaces: readonly (NamedRecord & { readonly role: 'admin' | 'member' })[]
  readonly session: { readonly id: string; readonly expires_at: string } | null
  /** Where programs reach the API; null for where the browser has reached it. */
  readonly api_url: string | null
}

/** Undefined until it is known, null for nobody. */
export const session = signal<Session | null | undefined>(undefined)
/** Whether somebody was signed in a moment ago, and was not by their own will signed out. */
export const hasEnded = signal(false)

observers.unauthenticated = () => {
  if (session.value) hasEnded.value = true
  session.value = null
}

/** Asks who is signed in; resolves with why that could not be found out. */
export async function loadSession(): Promise<Problem | null> {
  const outcome = await call<{ data: Session }>('GET', 'api/v1/session')
  session.value = outcome.ok ? outcome.data.data : null
  return outcome.ok ? null : outcome.problem
}

/** Exchanges a management key for a session. */
export async function signIn(key: string): Promise<Problem | null> {
  const outcome = await call('POST', 'api/v1/session', { headers: { Authorization: `Bearer ${key}` } })
  if (!outcome.ok) return outcome.problem
  hasEnded.value = false
  return loadSession()
}

export async function signOut(): Promise<void> {
  await call('DELETE', 'api/v1/session')
  hasEnded.value = false
  session.value = null
}

/** Whether who has signed in may call what asks for this. */
export function may(access: Access, who: Session | null | undefined = session.value): boolean {
  if (!who) return false
  if (access === 'operator') return who.operator
  if (who.kind === 'management') return true
  if (access === 'management') return false
  return who.workspaces.some(({ role }) => access === 'member' || role === 'admin')
}

/** Name of a workspace; its id where it is not one of those in which the caller has a role. */
export function workspaceName(id: string): string {
  return session.value?.workspaces.find((each) => each.id === id)?.name ?? id
}
