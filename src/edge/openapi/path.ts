import type { Segment, Template, Variable } from '../../platform/rpc/index.ts'

/** A path template in the form of OpenAPI. */
interface DocumentedPath {
  /** For example `/api/v1/users/{user}:archive`. */
  readonly text: string
  readonly parameters: readonly PathParameter[]
}

/** A `{…}` of a path. */
export interface PathParameter {
  readonly name: string
  /**
   * The request field with the text or with a name that contains it. Undefined for a wildcard
   * without a field.
   */
  readonly fieldPath: string | undefined
  /** The form of the resource name, such as `users/{user}`, if the text is one segment of it. */
  readonly resourceName: string | undefined
  /** Whether the text is the last segment of the resource name. */
  readonly isLast: boolean
  /** Whether the text may contain slashes. */
  readonly multi: boolean
}

/**
 * Returns a path template in the form of OpenAPI, where a parameter is one segment. A variable such
 * as `{name=users/*}` becomes `users/{user}`: a wildcard is named after the collection before it,
 * in the singular, so that the text reads like the form of the resource name.
 */
export function documentPath(template: Template): DocumentedPath {
  const names = parameterNames(template)
  const texts = template.segments.map((segment, index) =>
    segmentText(segment, names.get(index) ?? []),
  )
  const verb = template.verb === '' ? '' : `:${encodeURIComponent(template.verb)}`
  const parameters = template.segments.flatMap((segment, index) =>
    (names.get(index) ?? []).map((name, part) => {
      const variable = variableAt(template, index, segment.kind === 'mixed' ? part : -1)
      const isPart = variable !== undefined && variable.end - variable.start > 1
      return {
        name,
        fieldPath: variable?.fieldPath,
        resourceName: isPart ? texts.slice(variable.start, variable.end).join('/') : undefined,
        isLast: isPart && index === variable.end - 1,
        multi: segment.kind === 'multi',
      }
    }),
  )
  return { text: `/${texts.join('/')}${verb}`, parameters }
}

/**
 * Returns a function that gives paths of the same shape the parameter names of the first one.
 * OpenAPI treats them as the same path (https://spec.openapis.org/oas/v3.1.1#paths-object).
 */
export function pathsByShape(): (path: DocumentedPath) => DocumentedPath {
  const firsts = new Map<string, DocumentedPath>()
  return (path) => {
    const shape = path.text.replace(/\{[^}]*\}/g, '{}')
    const first = firsts.get(shape)
    if (!first) {
      firsts.set(shape, path)
      return path
    }
    const parameters = path.parameters.map((parameter, i) => ({
      ...parameter,
      name: first.parameters[i]?.name ?? parameter.name,
    }))
    return { text: first.text, parameters }
  }
}

/** Returns the unique parameter names of each segment with parameters. */
function parameterNames(template: Template): Map<number, string[]> {
  const taken = new Set<string>()
  const unique = (wanted: string) => {
    let name = wanted
    for (let count = 2; taken.has(name); count++) name = `${wanted}_${count}`
    taken.add(name)
    return name
  }
  const names = new Map<number, string[]>()
  for (const [index, segment] of template.segments.entries()) {
    if (segment.kind === 'literal') continue
    const variables = template.variables.filter(({ start, end }) => start <= index && index < end)
    const wanted =
      segment.kind === 'mixed'
        ? variables.map(nameOfVariable)
        : [nameOfWildcard(template, index, variables[0])]
    names.set(index, wanted.map(unique))
  }
  return names
}

function nameOfWildcard(
  { segments }: Template,
  index: number,
  variable: Variable | undefined,
): string {
  if (variable && variable.end - variable.start === 1) return nameOfVariable(variable)
  const before = segments[index - 1]
  const isInVariable = variable === undefined || index > variable.start
  if (before?.kind === 'literal' && isInVariable) return snakeCase(singular(before.text))
  return variable ? nameOfVariable(variable) : 'segment'
}

function nameOfVariable({ fieldPath }: Variable): string {
  return fieldPath.replaceAll('.', '_')
}

function variableAt({ variables }: Template, index: number, part: number): Variable | undefined {
  return variables.find(
    (variable) => variable.start <= index && index < variable.end && variable.part === part,
  )
}

function segmentText(segment: Segment, names: readonly string[]): string {
  switch (segment.kind) {
    case 'literal':
      return encodeURIComponent(segment.text)
    case 'mixed': {
      const left = [...names]
      return segment.parts
        .map((part) =>
          part.kind === 'literal' ? encodeURIComponent(part.text) : `{${left.shift()}}`,
        )
        .join('')
    }
    default:
      return `{${names[0]}}`
  }
}

/**
 * Returns the singular of the English plurals of collections: users, linkedIdentities, branches,
 * statuses.
 */
function singular(plural: string): string {
  if (/ies$/.test(plural)) return plural.replace(/ies$/, 'y')
  if (/(?:ch|sh|x|ss|us)es$/.test(plural)) return plural.replace(/es$/, '')
  return plural.replace(/s$/, '')
}

function snakeCase(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
