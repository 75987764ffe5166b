/** A directory that delivers people and groups, and knows what the server has to hold then. */
import { setTimeout as sleep } from 'node:timers/promises'
import { ConnectionLost } from '../../harness/http/connection.js'
import type { RequestSpec } from '../../harness/http/requests.js'
import type { DirectoryAnswer, DirectoryClient } from './directory-client.js'

interface KnownUser {
  readonly id: string
  active: boolean
}

interface KnownGroup {
  readonly id: string
  /** Names of users. */
  readonly members: Set<string>
}

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
const PATCH_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
const PER_PAGE = 200
/** Members in one request: few enough for a body of 1 MiB. */
const MEMBERS_AT_ONCE = 1_000
/** Between two tries while the server is away. */
const RETRY_MS = 20

export class FakeDirectory {
  readonly users = new Map<string, KnownUser>()
  readonly groups = new Map<string, KnownGroup>()
  /** Resources that were there although their creation had not been answered. */
  foundAgain = 0
  /** Requests that got no answer. */
  lost = 0

  constructor(readonly client: DirectoryClient) {}

  async addUser(userName: string): Promise<string> {
    const known = { id: await this.#create('/Users', 'userName', userName, userBody(userName)), active: true }
    this.users.set(userName, known)
    return known.id
  }

  async setActive(userName: string, active: boolean): Promise<void> {
    const user = this.users.get(userName)!
    await this.#repeat(
      'PATCH',
      `/Users/${user.id}`,
      patchOf({ op: 'replace', path: 'active', value: active }),
    )
    user.active = active
  }

  /** Deletes somebody, whom the groups then have no more. */
  async remove(userName: string): Promise<void> {
    await this.client.require('DELETE', `/Users/${this.users.get(userName)!.id}`)
    this.users.delete(userName)
    for (const { members } of this.groups.values()) members.delete(userName)
  }

  /** With members that were delivered before, by their names. */
  async addGroup(name: string, members: readonly string[]): Promise<string> {
    const body = { schemas: [`${CORE}:Group`], displayName: name, externalId: `group of ${name}` }
    const group = {
      id: await this.#create('/Groups', 'externalId', body.externalId, body),
      members: new Set<string>(),
    }
    this.groups.set(name, group)
    for (let from = 0; from < members.length; from += MEMBERS_AT_ONCE)
      await this.join(name, members.slice(from, from + MEMBERS_AT_ONCE))
    return group.id
  }

  async join(name: string, userNames: readonly string[]): Promise<DirectoryAnswer> {
    const { id, members } = this.groups.get(name)!
    const value = userNames.map((userName) => ({ value: this.users.get(userName)!.id }))
    const answer = await this.#repeat(
      'PATCH',
      `/Groups/${id}`,
      patchOf({ op: 'add', path: 'members', value }),
    )
    for (const userName of userNames) members.add(userName)
    return answer
  }

  async leave(name: string, userName: string): Promise<DirectoryAnswer> {
    const { id, members } = this.groups.get(name)!
    const path = `members[value eq "${this.users.get(userName)!.id}"]`
    const answer = await this.#repeat('PATCH', `/Groups/${id}`, patchOf({ op: 'remove', path }))
    members.delete(userName)
    return answer
  }

  /** What the server holds otherwise than it was told: a sentence each. */
  async differences(): Promise<string[]> {
    const users = await this.#all('/Users', 'attributes=userName,active')
    const groups = await this.#all('/Groups', 'excludedAttributes=members')
    const wrong = [
      ...compareIds('user', this.users, users, 'userName'),
      ...compareIds('group', this.groups, groups, 'displayName'),
    ]
    for (const { userName, active } of users)
      if (this.users.get(userName)?.active !== active) wrong.push(`${userName} is active: ${active}`)
    for (const [name, { id, members }] of this.groups) {
      const { json } = await this.client.require('GET', `/Groups/${id}`)
      const held: string[] = (json.members ?? []).map(({ value }: { value: string }) => value)
      const due = [...members].map((userName) => this.users.get(userName)!.id)
      if (held.toSorted().join() !== due.toSorted().join())
        wrong.push(`${name} has ${held.length} members, ${due.length} are due`)
    }
    return wrong
  }

  // biome-ignore lint/suspicious/noExplicitAny: resources as they are listed
  async #all(path: string, query: string): Promise<any[]> {
    // biome-ignore lint/suspicious/noExplicitAny: as above
    const all: any[] = []
    for (;;) {
      const page = `startIndex=${all.length + 1}&count=${PER_PAGE}&${query}`
      const { json } = await this.client.require('GET', `${path}?${page}`)
      all.push(...json.Resources)
      if (json.Resources.length === 0 || all.length >= json.totalResults) {
        if (json.totalResults !== all.length)
          throw new Error(`${path} tells ${json.totalResults} and lists ${all.length}`)
        return all
      }
    }
  }

  /** A request that may be made twice, until it is answered. */
  async #repeat(method: RequestSpec['method'], path: string, body: object): Promise<DirectoryAnswer> {
    for (;;) {
      const answer = await this.#try(method, path, body)
      if (answer !== null) return answer
      await sleep(RETRY_MS)
    }
  }

  /** Looks what became of a creation that was not answered before it asks again, as providers do. */
  async #create(path: string, attribute: string, value: string, body: object): Promise<string> {
    for (;;) {
      const created = await this.#try('POST', path, body)
      if (created !== null) return created.json.id
      const filter = encodeURIComponent(`${attribute} eq "${value}"`)
      const { json } = await this.#repeat('GET', `${path}?filter=${filter}&excludedAttributes=members`, {})
      if (json.totalResults > 0) {
        this.foundAgain++
        return json.Resources[0].id
      }
    }
  }

  /** Null when there was no answer, or one that says to come again. Faults: Error on any other that is no success. */
  async #try(method: RequestSpec['method'], path: string, body: object): Promise<DirectoryAnswer | null> {
    try {
      const answer = await this.client.ask(method, path, method === 'GET' ? undefined : body)
      if (answer.status < 300) return answer
      if (answer.status !== 503)
        throw new Error(`${method} ${path} was answered with ${answer.status} ${JSON.stringify(answer.json)}`)
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
    }
    this.lost++
    return null
  }
}

const patchOf = (operation: object): object => ({ schemas: [PATCH_SCHEMA], Operations: [operation] })

/** A person with about as much as providers send of one. */
function userBody(userName: string): object {
  return {
    schemas: [`${CORE}:User`, 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'],
    userName,
    externalId: `person ${userName}`,
    active: true,
    displayName: `Person ${userName}`,
    name: { givenName: 'Person', familyName: userName, formatted: `Person ${userName}` },
    emails: [{ value: `${userName}@example.com`, type: 'work', primary: true }],
    title: 'Engineer',
    preferredLanguage: 'en-US',
    'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User': {
      department: 'Trials',
      employeeNumber: userName,
    },
  }
}

/** Whoever is missing, unknown, there twice, or has another id. */
function compareIds(
  what: string,
  due: ReadonlyMap<string, { readonly id: string }>,
  // biome-ignore lint/suspicious/noExplicitAny: resources as they are listed
  listed: readonly any[],
  name: string,
): string[] {
  const wrong: string[] = []
  const seen = new Set<string>()
  for (const { [name]: called, id } of listed) {
    if (seen.has(called)) wrong.push(`${what} ${called} is there twice`)
    else if (due.get(called)?.id !== id) wrong.push(`${what} ${called} is unknown, or has another id`)
    seen.add(called)
  }
  for (const called of due.keys()) if (!seen.has(called)) wrong.push(`${what} ${called} is missing`)
  return wrong
}
