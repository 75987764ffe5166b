/** A parsed condition as the rest of `workers/` sees it: the parser's tree, told without the parser. */

type BinaryOperator = '!=' | '==' | 'in' | '+' | '-' | '*' | '/' | '%' | '<' | '<=' | '>' | '>='

interface SyntaxNode<Op extends string, Args> {
  readonly op: Op
  readonly args: Args
  /** UTF-16 index of its first character in the text. */
  readonly start: number
  /** UTF-16 index behind its last character. */
  readonly end: number
}

/** `object` stands for unsigned numbers and bytes, which the parser gives as objects of its own. */
type LiteralValue = string | number | bigint | boolean | null | object

export type ValueNode = SyntaxNode<'value', LiteralValue>
type CallNode = SyntaxNode<'call', readonly [string, readonly CelNode[]]>
export type MethodNode = SyntaxNode<'rcall', readonly [string, CelNode, readonly CelNode[]]>
export type MapNode = SyntaxNode<'map', readonly (readonly [CelNode, CelNode])[]>
export type BinaryNode = SyntaxNode<BinaryOperator, readonly [CelNode, CelNode]>

export type CelNode =
  | ValueNode
  | CallNode
  | MethodNode
  | SyntaxNode<'list', readonly CelNode[]>
  | MapNode
  | BinaryNode
  | SyntaxNode<'id', string>
  | SyntaxNode<'.' | '.?', readonly [CelNode, string]>
  | SyntaxNode<'[]' | '[?]' | '||' | '&&', readonly [CelNode, CelNode]>
  | SyntaxNode<'?:', readonly [CelNode, CelNode, CelNode]>
  | SyntaxNode<'!_' | '-_', CelNode>

/** Ends the walk: the condition breaks a rule. The reason is a sentence for the admin who wrote it. */
export class ConditionRejection extends Error {
  constructor(
    readonly reason: string,
    /** UTF-16 index into the text. */
    readonly position: number,
  ) {
    super(reason)
    this.name = 'ConditionRejection'
  }
}

export function rejectCondition(reason: string, node: CelNode): never {
  throw new ConditionRejection(reason, node.start)
}
