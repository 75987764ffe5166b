/**
 * A list whose members carry their own links: for things that come and go with every call.
 *
 * A Set would do the same, but its table is replaced again and again under such a churn, and each old table points to
 * the next one. Once the collector has moved one of them among the old objects, it takes the whole chain for alive,
 * with every call that stood in it: measured, a sixth of everything a call allocates.
 */
export interface Linked {
  /** The list it stands in; null when in none. */
  list: object | null
  previous: this | null
  next: this | null
}

/** What has no other base class takes its links from here. */
export abstract class LinkedNode implements Linked {
  list: object | null = null
  previous: this | null = null
  next: this | null = null
}

export class LinkedList<T extends Linked> {
  #first: T | null = null
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Puts a member to the front. It stands in no list yet. */
  add(member: T): void {
    const first = this.#first
    member.list = this
    member.next = first
    if (first !== null) first.previous = member
    this.#first = member
    this.#size++
  }

  /** Takes a member out of this list, if it is in it. Its links are cut, so that it keeps no other member alive. */
  delete(member: T): void {
    if (member.list !== this) return
    const { previous, next } = member
    if (previous === null) this.#first = next
    else previous.next = next
    if (next !== null) next.previous = previous
    member.list = null
    member.previous = null
    member.next = null
    this.#size--
  }

  /** The members of this moment: what is done to one may take out others. */
  members(): T[] {
    const members: T[] = []
    for (let member = this.#first; member !== null; member = member.next) members.push(member)
    return members
  }
}
