/**
 * Conditions of federation policies: checked when a policy is saved, evaluated at an exchange (contract/decisions 20
 * and 54). The only importer of the CEL library, which parses; what a tree means and costs is said in `compile.ts`.
 */
import { type ASTNode, Environment, ParseError, serialize } from '@marcbachmann/cel-js'
import type { ConditionClaims, ConditionOutcome, TaskInput, TaskOutcome } from '../tasks.js'
import {
  CLAIM_CHARS,
  type CompiledTree,
  compileTree,
  SCOPES,
  TOKEN_CHARS,
  type TokenSizeLimits,
} from './compile.js'
import { explainTree } from './explain-tree.js'
import { Observation } from './observation.js'
import { ProgramCache } from './program-cache.js'
import { MAX_SHOWN } from './rendering.js'
import { type ClaimSuggestion, findSuggestions } from './suggestions.js'
import { type CelNode, ConditionRejection } from './syntax-tree.js'
import { CelError } from './value.js'

/** Most code points of a condition. */
const MAX_POINTS = 2000
/** Most UTF-16 units of a refusal's reason. */
const MAX_REASON = 200
/**
 * A condition is judged for tokens of up to this size. For a larger token it is judged again, and false when it
 * would take too long: to refuse it when it is saved would lock out conditions that are fast for usual tokens.
 */
const USUAL_SIZE: TokenSizeLimits = { audiences: 64, typeChars: CLAIM_CHARS }

const LIMITS = {
  maxDepth: 64,
  maxAstNodes: 2000,
  maxListElements: 500,
  maxMapEntries: 250,
  maxCallArguments: 4,
}

/** A condition that may run. */
interface CompiledCondition extends CompiledTree {
  readonly tree: CelNode
  readonly text: string
}

/**
 * The library keeps an entry for ever for every function name it has seen, known or not. So a text is first read in
 * an environment that is thrown away; registering a function gives that environment tables of its own.
 */
const scratchEnvironment = (): Environment =>
  createEnvironment().registerFunction('unused(bool): bool', (value: boolean) => value)

/** Reads what was accepted at a save, so the names it sees are few. */
const lastingEnvironment = createEnvironment()
const programs = new ProgramCache<CompiledCondition | null>()

function createEnvironment(): Environment {
  return new Environment({ enableOptionalTypes: false, limits: LIMITS })
}

/** Whether a text may be saved as a condition, and if not, why and where. */
export function checkCondition({ text }: TaskInput<'check-condition'>): TaskOutcome<'check-condition'> {
  const program = orRejection(() => compileCondition(text, scratchEnvironment()))
  if (!(program instanceof ConditionRejection)) return { ok: true, value: { defect: null } }
  const position = [...text.slice(0, program.position)].length
  // A reason can name what stands in the text, which may be long or half a character.
  const reason = program.reason.slice(0, MAX_REASON).toWellFormed()
  return { ok: true, value: { defect: { reason, position } } }
}

function orRejection<T>(attempt: () => T): T | ConditionRejection {
  try {
    return attempt()
  } catch (error) {
    if (error instanceof ConditionRejection) return error
    throw error
  }
}

/** Throws a `ConditionRejection`. */
function compileCondition(text: string, into: Environment): CompiledCondition {
  // Twice as many units as points at most: a long text is not taken apart to learn that it is too long.
  if (text.length > 2 * MAX_POINTS || [...text].length > MAX_POINTS) {
    throw new ConditionRejection(`a condition has at most ${MAX_POINTS} characters`, 0)
  }
  if (!text.isWellFormed()) throw new ConditionRejection('the text holds half a character', 0)
  const tree = parseCondition(text, into)
  return { ...compileTree(tree, text, USUAL_SIZE), tree, text }
}

function parseCondition(text: string, into: Environment): CelNode {
  try {
    return into.parse(text).ast as CelNode
  } catch (error) {
    if (!(error instanceof ParseError)) throw error
    const tooLarge = error.code === 'limit_exceeded'
    const reason = tooLarge ? 'the condition is nested too deeply or has too many parts' : error.summary
    throw new ConditionRejection(reason, error.range?.start ?? 0)
  }
}

/** The value of a condition for one token. A condition that errs, or would run too long, is not met. */
export function evaluateCondition({
  text,
  claims,
}: TaskInput<'evaluate-condition'>): TaskOutcome<'evaluate-condition'> {
  const program = cachedProgramOf(text)
  const failure = program === null ? 'the condition is refused' : claimsDefect(program, claims)
  if (program === null || failure !== null) return { ok: true, value: { met: false, failure } }
  return { ok: true, value: runCondition(program, claims) }
}

/** By the text alone: the value of a condition depends on nothing else, so no entry can go stale. */
function cachedProgramOf(text: string): CompiledCondition | null {
  const known = programs.get(text)
  if (known !== undefined) return known
  const program = orRejection(() => compileCondition(text, lastingEnvironment))
  const kept = program instanceof ConditionRejection ? null : program
  programs.set(text, kept, kept?.nodes ?? 0)
  return kept
}

/** What each part of a condition comes to for one token, and what of the token would make it met. */
export function explainCondition({
  text,
  claims,
}: TaskInput<'explain-condition'>): TaskOutcome<'explain-condition'> {
  const program = cachedProgramOf(text)
  if (program === null || claimsDefect(program, claims) !== null) return { ok: true, value: null }
  const { tree } = program
  const observed = observe(program)
  const parts = explainTree(tree, observed, observed.scopeOf(claims), (node) =>
    textOfPart(node, program.text),
  )
  const wouldPassIf = suggestionsFor(program, claims).map(({ sentence }) => sentence)
  return { ok: true, value: { tree: parts, wouldPassIf } }
}

/**
 * Brackets around an operand are no part of it, so a slice of the source can lack one. What is shortened anyway is one:
 * to write every part of a deep tree anew would take longer than to run it.
 */
function textOfPart(node: CelNode, source: string): string {
  const isLong = node.end - node.start > 2 * MAX_SHOWN
  return isLong ? source.slice(node.start, node.end) : serialize(node as ASTNode)
}

/** What would make a saved condition met, with claims that do. Empty when they do already. */
export function conditionSuggestions(text: string, claims: ConditionClaims): readonly ClaimSuggestion[] {
  const program = cachedProgramOf(text)
  return program === null ? [] : suggestionsFor(program, claims)
}

function suggestionsFor(program: CompiledCondition, claims: ConditionClaims): readonly ClaimSuggestion[] {
  const isPossible = (changed: ConditionClaims): boolean => claimsDefect(program, changed) === null
  return findSuggestions(program.tree, observe(program), claims, program.cost, isPossible)
}

function observe({ tree, text }: CompiledCondition): Observation {
  const observation = new Observation()
  compileTree(tree, text, USUAL_SIZE, observation.observe)
  return observation
}

/** Why a program cannot be run over these claims; null when it can. */
function claimsDefect(program: CompiledCondition, claims: ConditionClaims): string | null {
  const { subject, audience, scopes, token_type } = claims
  const texts = [subject, token_type, ...audience, ...scopes]
  const chars = texts.reduce((sum, text) => sum + text.length, 0)
  if (chars > TOKEN_CHARS || scopes.length > SCOPES) return 'the claims are too large'
  if ([subject, ...audience, ...scopes].some((text) => text.length > CLAIM_CHARS))
    return 'a claim is too long'
  for (const text of texts) {
    if (!text.isWellFormed()) return 'a claim holds half a character'
  }
  if (audience.length <= USUAL_SIZE.audiences && token_type.length <= USUAL_SIZE.typeChars) return null
  const size = {
    audiences: Math.max(audience.length, USUAL_SIZE.audiences),
    typeChars: Math.max(token_type.length, USUAL_SIZE.typeChars),
  }
  const again = orRejection(() => compileTree(program.tree, program.text, size))
  return again instanceof ConditionRejection ? 'the token is too large for this condition' : null
}

/** A failure is a code of ours and quotes nothing of the token. */
function runCondition(program: CompiledCondition, claims: ConditionClaims): ConditionOutcome {
  try {
    return { met: program.run({ ...claims, item: null }) === true, failure: null }
  } catch (error) {
    if (error instanceof CelError) return { met: false, failure: error.code }
    throw error
  }
}
