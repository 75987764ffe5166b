/**
 * What would make a condition true: derived from its tree, from the value each part would need down to a claim that can
 * bring it about. What comes out has been tried: each suggestion has claims under which the condition is true.
 */
import type { ConditionClaims } from '../tasks.js'
import { placeOf, type Situation } from './claim-places.js'
import { isMacro, itemsIn, operandsOfChain } from './explain-tree.js'
import { type AtomChange, atomChanges } from './needed-changes.js'
import type { Evaluated, Observation } from './observation.js'
import { renderValue } from './rendering.js'
import type { CelNode, MethodNode } from './syntax-tree.js'
import type { CelScope, CelValue } from './value.js'

/** Suggestions that are told, and ways that are followed at each part. */
const MOST_SUGGESTIONS = 5
/** Claims that are tried for one condition, and nanoseconds all of them may take by the reckoning of its price. */
const MOST_TRIALS = 200
const MOST_NANOSECONDS = 20_000_000
/** Items of a range that are gone into. */
const MOST_ITEMS = 16

export interface ClaimSuggestion {
  /** What would have to be so; the rest of the token may stay as it is. */
  readonly sentence: string
  /** Claims under which the condition is true. */
  readonly claims: ConditionClaims
}

/** A way to change the claims, as far as it has been followed. */
interface Trial extends Situation {
  readonly scope: CelScope
  readonly clauses: readonly string[]
}

/** @param isPossible whether a token can have these claims */
export function findSuggestions(
  tree: CelNode,
  observation: Observation,
  claims: ConditionClaims,
  cost: number,
  isPossible: (claims: ConditionClaims) => boolean,
): readonly ClaimSuggestion[] {
  const trials = Math.min(MOST_TRIALS, Math.ceil(MOST_NANOSECONDS / cost))
  const search = new SuggestionSearch(observation, trials)
  const sentences = new Map<string, ConditionClaims>()
  const found = search.waysTo(tree, true, search.begin(claims))
  for (const { clauses, claims: changed, scope } of found) {
    if (clauses.length === 0 || observation.valueOf(tree, scope).value !== true) continue
    if (isPossible(changed)) sentences.set([...new Set(clauses)].join(' and '), changed)
  }
  return [...sentences]
    .slice(0, MOST_SUGGESTIONS)
    .map(([sentence, changed]) => ({ sentence, claims: changed }))
}

class SuggestionSearch {
  constructor(
    private readonly observation: Observation,
    private trialsLeft: number,
  ) {}

  begin(claims: ConditionClaims): Trial {
    return this.#trial({ claims, loop: null }, [])
  }

  /** The ways to give a part this value, the likeliest first; none where nobody knows one. */
  waysTo(node: CelNode, wanted: boolean, trial: Trial): readonly Trial[] {
    if (!this.observation.has(node) || this.trialsLeft <= 0) return []
    if (this.#valueOf(node, trial).value === wanted) return [trial]
    switch (node.op) {
      case '&&':
      case '||': {
        const operands = operandsOfChain(node, node.op)
        const needsAll = (node.op === '&&') === wanted
        return needsAll ? this.#waysToAll(operands, wanted, trial) : this.#waysToAny(operands, wanted, trial)
      }
      case '!_':
        return this.waysTo(node.args, !wanted, trial)
      case '?:':
        return this.#waysByChoice(node.args, wanted, trial)
      case '==':
      case '!=':
        return [...this.#waysByTruth(node, wanted, trial), ...this.#waysByAtom(node, wanted, trial)]
      case 'rcall':
        return isMacro(node) ? this.#waysByMacro(node, wanted, trial) : this.#waysByAtom(node, wanted, trial)
      default:
        return this.#waysByAtom(node, wanted, trial)
    }
  }

  /** Twice: what one operand needs may undo what was done for another. */
  #waysToAll(operands: readonly CelNode[], wanted: boolean, trial: Trial): readonly Trial[] {
    return [...operands, ...operands].reduce<readonly Trial[]>(
      (ways, operand) => ways.flatMap((way) => this.waysTo(operand, wanted, way)).slice(0, MOST_SUGGESTIONS),
      [trial],
    )
  }

  #waysToAny(operands: readonly CelNode[], wanted: boolean, trial: Trial): readonly Trial[] {
    return operands.flatMap((operand) => this.waysTo(operand, wanted, trial)).slice(0, MOST_SUGGESTIONS)
  }

  #waysByChoice(
    [test, yes, no]: readonly [CelNode, CelNode, CelNode],
    wanted: boolean,
    trial: Trial,
  ): readonly Trial[] {
    const isYes = this.#valueOf(test, trial).value === true
    const under = (branch: boolean): readonly Trial[] =>
      this.waysTo(test, branch, trial).flatMap((way) => this.waysTo(branch ? yes : no, wanted, way))
    return [...under(isYes), ...under(!isYes)].slice(0, MOST_SUGGESTIONS)
  }

  /** `("a" in scopes) == true`: what is compared is itself a condition. */
  #waysByTruth(node: CelNode, wanted: boolean, trial: Trial): readonly Trial[] {
    if (node.op !== '==' && node.op !== '!=') return []
    const [left, right] = node.args
    const isEqual = (node.op === '==') === wanted
    return [
      [left, right],
      [right, left],
    ].flatMap(([side, other]) => {
      const { value } = this.#valueOf(other!, trial)
      return typeof value === 'boolean' ? this.waysTo(side!, isEqual ? value : !value, trial) : []
    })
  }

  #waysByMacro(node: MethodNode, wanted: boolean, trial: Trial): readonly Trial[] {
    const [name, range, [variable, body]] = node.args
    const items = itemsIn(this.#valueOf(range, trial).value)
    const loopName = variable!.args as string
    if (items.length > MOST_ITEMS) return []
    const isAny = name === 'exists' || name === 'exists_one'
    if (!isAny && name !== 'all') return []
    const inTurn = (way: Trial, item: CelValue, isFree: boolean): Trial =>
      this.#trial({ claims: way.claims, loop: { name: loopName, item, isFree } }, way.clauses)
    const after = (way: Trial): Trial => this.#trial({ claims: way.claims, loop: null }, way.clauses)
    const perItem = (way: Trial, item: CelValue): readonly Trial[] =>
      this.waysTo(body!, wanted, inTurn(way, item, false)).map(after)
    if (isAny === wanted) {
      const byItem = items.flatMap((item) => perItem(trial, item))
      const byEntry = this.#waysByNewEntry(range, body!, loopName, wanted, trial)
      return [...byEntry, ...byItem].slice(0, MOST_SUGGESTIONS)
    }
    const byItems = items.reduce<readonly Trial[]>(
      (ways, item) => ways.flatMap((way) => perItem(way, item)).slice(0, MOST_SUGGESTIONS),
      [trial],
    )
    return [...this.#waysByFewerEntries(range, body!, loopName, wanted, trial), ...byItems]
  }

  /** An entry more, of which the body has the wanted value. */
  #waysByNewEntry(
    range: CelNode,
    body: CelNode,
    name: string,
    wanted: boolean,
    trial: Trial,
  ): readonly Trial[] {
    const list = placeOf(range, trial)
    if (list === null || typeof list.value === 'string') return []
    const entries = list.value
    const blank = this.#trial({ claims: trial.claims, loop: { name, item: '', isFree: true } }, [])
    return this.waysTo(body, wanted, blank).flatMap(({ loop, clauses }) => {
      const put = loop === null ? null : list.put([...entries, loop.item as string])
      const so = clauses.length === 0 ? '' : ` for which ${clauses.join(' and ')}`
      const clause = `${list.name} has an entry \`${name}\`${so}`
      return put === null ? [] : [this.#trial(put, [...trial.clauses, clause])]
    })
  }

  /** Without the entries of which the body has another value. */
  #waysByFewerEntries(
    range: CelNode,
    body: CelNode,
    name: string,
    wanted: boolean,
    trial: Trial,
  ): readonly Trial[] {
    const list = placeOf(range, trial)
    if (list === null || typeof list.value === 'string') return []
    const isGood = (item: string): boolean => {
      const turn = this.#trial({ claims: trial.claims, loop: { name, item, isFree: false } }, [])
      return this.#valueOf(body, turn).value === wanted
    }
    const bad = list.value.filter((item) => !isGood(item))
    const put = list.put(list.value.filter((item) => !bad.includes(item)))
    const clause = `${list.name} does not contain ${bad.map((item) => renderValue(item).text).join(' or ')}`
    return put === null ? [] : [this.#trial(put, [...trial.clauses, clause])]
  }

  #waysByAtom(node: CelNode, wanted: boolean, trial: Trial): readonly Trial[] {
    const changes = atomChanges(node, wanted, trial, (each) => this.#valueOf(each, trial).value)
    return changes.flatMap((change) => this.#carryOut(change, node, wanted, trial))
  }

  /** What does not come to the wanted value is no way. */
  #carryOut({ place, value, clause }: AtomChange, node: CelNode, wanted: boolean, trial: Trial) {
    const put = place.put(value)
    if (put === null || this.trialsLeft <= 0) return []
    const way = this.#trial(put, [...trial.clauses, clause])
    return this.#valueOf(node, way).value === wanted ? [way] : []
  }

  #valueOf(node: CelNode, { scope }: Trial): Evaluated {
    return this.observation.valueOf(node, scope)
  }

  #trial({ claims, loop }: Situation, clauses: readonly string[]): Trial {
    this.trialsLeft--
    return { claims, loop, clauses, scope: this.observation.scopeOf(claims, loop?.item) }
  }
}
