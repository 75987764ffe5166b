/** A parsed condition as the rest of `workers/` sees it: the parser's tree, told without the parser. */

type BinaryOperator = '!=' | '==' | 'in' | '+' | '-' | '*' | '/' | '%' | '<' | '<=' | '>' | '>='

interface Branch<Op extends string, Args> {
  readonly op: Op
  readonly args: Args
  /** UTF-16 index of its first character in the text. */
  readonly start: number
}

/** `object` stands for unsigned numbers and bytes, which the parser gives as objects of its own. */
type Literal = string | number | bigint | boolean | null | object

export type ValueNode = Branch<'value', Literal>
type CallNode = Branch<'call', readonly [string, readonly CelNode[]]>
export type MethodNode = Branch<'rcall', readonly [string, CelNode, readonly CelNode[]]>
export type ListNode = Branch<'list', readonly CelNode[]>
export type MapNode = Branch<'map', readonly (readonly [CelNode, CelNode])[]>
export type BinaryNode = Branch<BinaryOperator, readonly [CelNode, CelNode]>

export type CelNode =
  | ValueNode
  | CallNode
  | MethodNode
  | ListNode
  | MapNode
  | BinaryNode
  | Branch<'id', string>
  | Branch<'.' | '.?', readonly [CelNode, string]>
  | Branch<'[]' | '[?]' | '||' | '&&', readonly [CelNode, CelNode]>
  | Branch<'?:', readonly [CelNode, CelNode, CelNode]>
  | Branch<'!_' | '-_', CelNode>

/** Ends the walk: the condition breaks a rule. The reason is a sentence for the admin who wrote it. */
export class Refused extends Error {
  constructor(
    readonly reason: string,
    /** UTF-16 index into the text. */
    readonly at: number,
  ) {
    super(reason)
    this.name = 'Refused'
  }
}

export function refuse(reason: string, node: CelNode): never {
  throw new Refused(reason, node.start)
}
