import { posix } from 'node:path'
import ts from 'typescript'

/** One import, re-export, dynamic import, import type or `require` of a file, also of one made by `createRequire`. */
export interface Import {
  /** Path from the repository's root for a file of ours, otherwise the name of the package or built-in module. */
  readonly to: string
  readonly ours: boolean
  /** Erased by the compiler, so that nothing is loaded at run time. */
  readonly typesOnly: boolean
  readonly line: number
}

/** A place that touches `process.env`, and how. */
interface EnvironmentUse {
  readonly use: 'handed over' | 'written' | 'read'
  readonly line: number
}

/** What the rules ask about one source file. */
export interface SourceFacts {
  readonly path: string
  readonly imports: readonly Import[]
  readonly defaultExports: readonly number[]
  readonly environment: readonly EnvironmentUse[]
}

/** Parses a file. `path` is relative to the repository's root, with forward slashes. */
export function sourceFacts(path: string, text: string): SourceFacts {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const imports: Import[] = []
  const defaultExports: number[] = []
  const environment: EnvironmentUse[] = []
  const lineOf = (node: ts.Node): number => file.getLineAndCharacterOfPosition(node.getStart(file)).line + 1
  const requires = new Set(['require'])
  const visit = (node: ts.Node): void => {
    if (isRequireMade(node)) requires.add(node.name.getText())
    const found = importOf(node, requires)
    if (found !== null) imports.push({ ...resolved(path, found.module), ...found, line: lineOf(node) })
    if (isDefaultExport(node)) defaultExports.push(lineOf(node))
    const use = environmentUse(node)
    if (use !== null) environment.push({ use, line: lineOf(node) })
    ts.forEachChild(node, visit)
  }
  visit(file)
  return { path, imports, defaultExports, environment }
}

interface Found {
  readonly module: string
  readonly typesOnly: boolean
}

function importOf(node: ts.Node, requires: ReadonlySet<string>): Found | null {
  if (ts.isImportDeclaration(node)) {
    // `import { type A }` is no type import here: under verbatimModuleSyntax the module is still loaded.
    return { module: textOf(node.moduleSpecifier), typesOnly: node.importClause?.isTypeOnly ?? false }
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined) {
    return { module: textOf(node.moduleSpecifier), typesOnly: node.isTypeOnly }
  }
  if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) {
    return { module: textOf(node.argument.literal), typesOnly: true }
  }
  if (ts.isCallExpression(node) && loads(node.expression, requires) && node.arguments[0] !== undefined) {
    return { module: textOf(node.arguments[0]), typesOnly: false }
  }
  return null
}

/** `import(…)`, `require(…)` by whatever name, `createRequire(…)(…)`, and `.resolve(…)` of either. */
function loads(callee: ts.Expression, requires: ReadonlySet<string>): boolean {
  if (ts.isPropertyAccessExpression(callee))
    return callee.name.text === 'resolve' && isRequire(callee.expression, requires)
  return callee.kind === ts.SyntaxKind.ImportKeyword || isRequire(callee, requires)
}

function isRequire(node: ts.Expression, requires: ReadonlySet<string>): boolean {
  return makesRequire(node) || (ts.isIdentifier(node) && requires.has(node.text))
}

function makesRequire(node: ts.Expression): boolean {
  return ts.isCallExpression(node) && node.expression.getText() === 'createRequire'
}

function isRequireMade(node: ts.Node): node is ts.VariableDeclaration {
  return ts.isVariableDeclaration(node) && node.initializer !== undefined && makesRequire(node.initializer)
}

/** The text of a literal; of a template what stands before its first gap, which names the package. */
function textOf(node: ts.Node): string {
  if (ts.isTemplateExpression(node)) return node.head.text
  return ts.isStringLiteralLike(node) ? node.text : node.getText()
}

function resolved(from: string, module: string): { to: string; ours: boolean } {
  if (!module.startsWith('.')) return { to: packageOf(module), ours: false }
  return { to: posix.join(posix.dirname(from), module).replace(/\.js$/, '.ts'), ours: true }
}

/** `lmdb/index.js` belongs to `lmdb`, `@scope/name/part` to `@scope/name`; built-ins keep their name. */
function packageOf(module: string): string {
  if (module.startsWith('node:')) return module
  return module
    .split('/')
    .slice(0, module.startsWith('@') ? 2 : 1)
    .join('/')
}

function isDefaultExport(node: ts.Node): boolean {
  if (ts.isExportAssignment(node)) return true
  if (ts.isExportSpecifier(node)) return node.name.text === 'default'
  return (
    ts.canHaveModifiers(node) &&
    (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) ?? false)
  )
}

/** `process.env`, `process['env']`, `const { env } = process`, or `env` imported from `node:process`. */
function environmentUse(node: ts.Node): EnvironmentUse['use'] | null {
  if (ts.isImportDeclaration(node) && /^(node:)?process$/.test(textOf(node.moduleSpecifier))) return 'read'
  if (ts.isVariableDeclaration(node) && node.initializer !== undefined && isProcess(node.initializer)) {
    return /\benv\b/.test(node.name.getText()) ? 'read' : null
  }
  if (!isEnvironment(node)) return null
  const { parent } = node
  if (ts.isCallExpression(parent) && parent.arguments.some((argument) => argument === node))
    return 'handed over'
  const target = ts.isPropertyAccessExpression(parent) || ts.isElementAccessExpression(parent) ? parent : null
  const assigned =
    target !== null &&
    ts.isBinaryExpression(target.parent) &&
    target.parent.left === target &&
    target.parent.operatorToken.kind === ts.SyntaxKind.EqualsToken
  return assigned ? 'written' : 'read'
}

function isEnvironment(node: ts.Node): boolean {
  if (ts.isPropertyAccessExpression(node)) return isProcess(node.expression) && node.name.text === 'env'
  return (
    ts.isElementAccessExpression(node) &&
    isProcess(node.expression) &&
    textOf(node.argumentExpression) === 'env'
  )
}

function isProcess(node: ts.Node): boolean {
  return /^(globalThis\.)?process$/.test(node.getText())
}
