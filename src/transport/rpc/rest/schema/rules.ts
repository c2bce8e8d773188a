import type { DescField, DescMethod, DescService } from '@bufbuild/protobuf'
import { getOption, hasOption, ScalarType } from '@bufbuild/protobuf'
import { EmptySchema, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import type { Method as MethodOption } from '#gen/branchline/rest/v1/rest_pb.ts'
import { method as methodExtension } from '#gen/branchline/rest/v1/rest_pb.ts'
import { http as httpExtension } from '#gen/google/api/annotations_pb.ts'
import type { HttpRule } from '#gen/google/api/http_pb.ts'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { token } from '../../exchange/header-list.ts'
import type { Dialect } from './dialect.ts'
import { dialectOf, isSuccessStatus } from './dialect.ts'
import type { Grammar, Template } from './template.ts'
import { parseTemplate, TemplateError } from './template.ts'

/** One way to reach an RPC over REST: a checked rule. */
export interface Binding {
  readonly rpc: DescMethod
  /** That of the service. */
  readonly dialect: Dialect
  /** An HTTP method in upper case, or `*` for any. */
  readonly httpMethod: string
  readonly template: Template
  /**
   * Indexes of the segments that are numbers, where the dialect forgives text that is none; none
   * behind `**`.
   */
  readonly numberSegments: readonly number[]
  /** Nothing (empty), `*` for the whole request, or the proto name of one request field. */
  readonly body: string
  /** The whole response (empty), or the proto name of one response field. */
  readonly responseBody: string
  /** Response field that is the content in place of `responseBody` whenever it is set. */
  readonly singleBody?: DescField
  /**
   * Status of a successful answer: that of the method, or the dialect's for google.protobuf.Empty,
   * or 200.
   */
  readonly successStatus: number
  /** Whether successful answers have no content, whatever the message and the status. */
  readonly isBodiless: boolean
  /** Set if answers carry paging headers. */
  readonly page?: Paging
  /** Response headers copied from fields of the response. */
  readonly headers: readonly HeaderField[]
}

/** The integer fields that `X-Total-Count` and `Link` are computed from. */
export interface Paging {
  /** Response field with the number of all results. */
  readonly total: DescField
  /** Request field with the 1-based page. */
  readonly page: DescField
  /** Request field with the page size asked for. */
  readonly limit: DescField
  /** Response field with the page size as applied; wins over `limit`. */
  readonly appliedLimit?: DescField
}

/** A response header and the scalar response field with its value. */
export interface HeaderField {
  readonly name: string
  readonly field: DescField
}

/**
 * The REST bindings of a method: those of `google.api.http` in the standard grammar, then those of
 * `branchline.rest.v1.method` in the extended one, each followed by its additional bindings. Works
 * alike for generated descriptors and for descriptor sets, which carry the options as unknown
 * fields. A rule with a mistake gives no binding; `problems` lists all mistakes, each with the RPC,
 * the rule and the column or field. `beside` are the services that the method's own is served with:
 * its dialect may be that of one of them.
 */
export function bindingsOf(
  method: DescMethod,
  beside: Iterable<DescService> = [],
): { bindings: Binding[]; problems: string[] } {
  const problems: string[] = []
  const own = getOption(method, methodExtension)
  const rules = rulesOf(method, own, problems)
  if (rules.length === 0) return { bindings: [], problems }

  const dialect = dialectOf(method.parent, beside)
  const report: Report = (text) => problems.push(`${rpcName(method)}: ${methodOptionName}: ${text}`)
  const shared = sharedOf(method, own, dialect, report)
  const bindings: Binding[] = []
  for (const { rule, grammar, origin } of rules) {
    const before = problems.length
    const place = `${rpcName(method)}: ${origin}`
    const binding = readRule(method, rule, grammar, shared, (text) =>
      problems.push(`${place}: ${text}`),
    )
    if (binding !== undefined && problems.length === before) bindings.push(binding)
  }
  return { bindings, problems }
}

/** The name of an RPC in messages and tables, as in its RPC path: `package.Service/Method`. */
export function rpcName(method: DescMethod): string {
  return `${method.parent.typeName}/${method.name}`
}

type Report = (text: string) => void

/** What all bindings of a method have in common. */
type Shared = Pick<
  Binding,
  'dialect' | 'successStatus' | 'isBodiless' | 'singleBody' | 'page' | 'headers'
>

interface Rule {
  readonly rule: HttpRule
  readonly grammar: Grammar
  /** The option the rule stands in. */
  readonly origin: string
}

const methodOptionName = `(${methodExtension.typeName})`

function rulesOf(method: DescMethod, own: MethodOption, problems: string[]): Rule[] {
  const rules: Rule[] = []
  const add = (rule: HttpRule, grammar: Grammar, origin: string) => {
    rules.push({ rule, grammar, origin })
    rule.additionalBindings.forEach((additional, i) => {
      const place = `${origin}.additional_bindings[${i}]`
      rules.push({ rule: additional, grammar, origin: place })
      if (additional.additionalBindings.length > 0) {
        problems.push(
          `${rpcName(method)}: ${place}.additional_bindings: a binding inside a binding`,
        )
      }
    })
  }
  if (hasOption(method, httpExtension))
    add(getOption(method, httpExtension), 'standard', `(${httpExtension.typeName})`)
  own.bindings.forEach((rule, i) => {
    add(rule, 'extended', `${methodOptionName}.bindings[${i}]`)
  })
  return rules
}

function readRule(
  rpc: DescMethod,
  rule: HttpRule,
  grammar: Grammar,
  shared: Shared,
  report: Report,
): Binding | undefined {
  const pattern = readPattern(rule, report)
  if (pattern === undefined) return undefined
  const { httpMethod, path } = pattern
  const reportHere: Report = (text) => report(`${httpMethod} ${path}: ${text}`)

  const template = readTemplate(path, grammar, reportHere)
  if (template !== undefined) checkVariables(rpc, template, reportHere)
  checkBody(rpc, httpMethod, rule.body, reportHere)
  checkStreaming(rpc, rule.body, reportHere)
  const responseField = checkResponseBody(rpc, rule.responseBody, reportHere)
  if (shared.singleBody !== undefined && responseField === undefined) {
    reportHere('response_body: single_body takes the place of one')
  }
  if (
    shared.page !== undefined &&
    responseField?.fieldKind !== 'list' &&
    responseField?.fieldKind !== 'message'
  ) {
    reportHere('response_body: paging needs a repeated field, or a message that has one')
  }
  if (template === undefined) return undefined
  const numberSegments = shared.dialect.query === 'lenient' ? numberSegmentsOf(rpc, template) : []
  return {
    rpc,
    httpMethod,
    template,
    numberSegments,
    body: rule.body,
    responseBody: rule.responseBody,
    ...shared,
  }
}

function numberSegmentsOf(rpc: DescMethod, { variables, segments, multiAt }: Template): number[] {
  return variables.flatMap(({ fieldPath, start }) => {
    const field = fieldOf(rpc.input, fieldPath)
    const isWhole = segments[start]?.kind === 'single' && (multiAt < 0 || start < multiAt)
    return isWhole && field !== undefined && isInteger(field) ? [start] : []
  })
}

/** An HTTP method (RFC 9110 9.1) in upper case, or any. */
const httpMethodName = /^(?:[A-Z][A-Z0-9-]*|\*)$/

function readPattern(
  { pattern }: HttpRule,
  report: Report,
): { httpMethod: string; path: string } | undefined {
  if (pattern.case === undefined) {
    report('no pattern: one of get, put, post, delete, patch, custom')
    return undefined
  }
  const { kind, path } =
    pattern.case === 'custom'
      ? pattern.value
      : { kind: pattern.case.toUpperCase(), path: pattern.value }
  if (kind.trim() === '') report('custom.kind: blank')
  else if (!httpMethodName.test(kind))
    report(`custom.kind: ${JSON.stringify(kind)} is no HTTP method in upper case`)
  if (path.trim() === '') {
    report(pattern.case === 'custom' ? 'custom.path: blank' : `${pattern.case}: blank path`)
    return undefined
  }
  return { httpMethod: kind, path }
}

function readTemplate(path: string, grammar: Grammar, report: Report): Template | undefined {
  try {
    return parseTemplate(path, grammar)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const hint =
      grammar === 'standard' && isExtended(path) ? `; write it in ${methodOptionName}.bindings` : ''
    report(error.message + hint)
    return undefined
  }
}

function isExtended(path: string): boolean {
  try {
    parseTemplate(path, 'extended')
    return true
  } catch (error) {
    if (error instanceof TemplateError) return false
    throw error
  }
}

function checkVariables(rpc: DescMethod, template: Template, report: Report): void {
  for (const { fieldPath } of template.variables) {
    const mistake = variableMistake(rpc, fieldPath)
    if (mistake !== undefined) report(`variable ${fieldPath}: ${mistake}`)
  }
}

/** Message types whose JSON form is text, so that a path segment can hold them. */
const textMessages = new Set([
  'google.protobuf.Timestamp',
  'google.protobuf.Duration',
  'google.protobuf.FieldMask',
])

function variableMistake(rpc: DescMethod, fieldPath: string): string | undefined {
  const names = fieldPath.split('.')
  const last = names.pop()
  let message = rpc.input
  for (const name of names) {
    const field = fieldOf(message, name)
    if (field === undefined) return `${message.typeName} has no field ${name}`
    if (field.fieldKind !== 'message') return `${name} is not a singular message`
    // The value of a wrapper is set through the wrapper; its own field does not exist at run time
    // (protobuf-es).
    if (isWrapperDesc(field.message)) return `${name} is a wrapper: name it without its value`
    message = field.message
  }
  const field = fieldOf(message, last ?? '')
  if (field === undefined) return `${message.typeName} has no field ${last}`
  if (field.fieldKind === 'list') return 'a repeated field'
  if (field.fieldKind === 'map') return 'a map'
  if (field.fieldKind !== 'message') return undefined
  if (isWrapperDesc(field.message) || textMessages.has(field.message.typeName)) return undefined
  return `a message without a scalar JSON form, ${field.message.typeName}`
}

function checkBody(rpc: DescMethod, httpMethod: string, body: string, report: Report): void {
  if (body === '') return
  if (httpMethod === 'GET' || httpMethod === 'HEAD') report(`body: ${httpMethod} has no body`)
  if (body !== '*' && fieldOf(rpc.input, body) === undefined) {
    report(`body: ${JSON.stringify(body)} is no field of ${rpc.input.typeName}`)
  }
}

function checkResponseBody(
  rpc: DescMethod,
  responseBody: string,
  report: Report,
): DescField | undefined {
  if (responseBody === '') return undefined
  const field = fieldOf(rpc.output, responseBody)
  if (field === undefined) {
    report(`response_body: ${JSON.stringify(responseBody)} is no field of ${rpc.output.typeName}`)
  }
  return field
}

/** Only an upload in chunks has a REST form in which the client sends more than one message. */
function checkStreaming(rpc: DescMethod, body: string, report: Report): void {
  if (rpc.methodKind === 'bidi_streaming') report('a bidirectional stream has no REST form')
  if (rpc.methodKind !== 'client_streaming') return
  const field = fieldOf(rpc.input, body)
  const content =
    body === '*' ? rpc.input : field?.fieldKind === 'message' ? field.message : undefined
  if (content?.typeName !== HttpBodySchema.typeName) {
    report(`body: a client stream has a REST form only if its body is ${HttpBodySchema.typeName}`)
  }
}

function sharedOf(rpc: DescMethod, option: MethodOption, dialect: Dialect, report: Report): Shared {
  const { successStatus, noContent } = option
  if (successStatus !== 0 && !isSuccessStatus(successStatus)) {
    report(`success_status: ${successStatus} is not a status from 200 to 399`)
  }
  if (noContent && rpc.methodKind !== 'unary') report('no_content: a stream has content')
  const isEmpty = rpc.output.typeName === EmptySchema.typeName
  const { emptyStatus } = dialect
  const page = pagingOf(rpc, option, report)
  const headers = headersOf(rpc, option, report)
  const singleBody = singleBodyOf(rpc, option, report)
  return {
    dialect,
    successStatus: successStatus || (isEmpty ? emptyStatus : 200),
    isBodiless: noContent || (isEmpty && emptyStatus === 204),
    headers,
    ...(page === undefined ? {} : { page }),
    ...(singleBody === undefined ? {} : { singleBody }),
  }
}

function singleBodyOf(
  rpc: DescMethod,
  { singleBody }: MethodOption,
  report: Report,
): DescField | undefined {
  if (singleBody === '') return undefined
  const field = fieldOf(rpc.output, singleBody)
  if (field === undefined)
    report(`single_body: ${JSON.stringify(singleBody)} is no field of ${rpc.output.typeName}`)
  else if (field.fieldKind !== 'message')
    report(`single_body: ${singleBody} is not a singular message`)
  else return field
  return undefined
}

function pagingOf(
  rpc: DescMethod,
  { page: option }: MethodOption,
  report: Report,
): Paging | undefined {
  if (option === undefined) return undefined
  const integerField = (message: DescMethod['input'], key: string, name: string) => {
    const field = fieldOf(message, name)
    if (field === undefined)
      report(`page.${key}: ${JSON.stringify(name)} is no field of ${message.typeName}`)
    else if (isInteger(field)) return field
    else report(`page.${key}: ${name} of ${message.typeName} is not an integer`)
    return undefined
  }
  const total = integerField(rpc.output, 'total', option.total)
  const page = integerField(rpc.input, 'page', option.page)
  const limit = integerField(rpc.input, 'limit', option.limit)
  const hasAppliedLimit = fieldOf(rpc.output, option.limit) !== undefined
  const appliedLimit = hasAppliedLimit ? integerField(rpc.output, 'limit', option.limit) : undefined
  if (total === undefined || page === undefined || limit === undefined) return undefined
  return { total, page, limit, ...(appliedLimit === undefined ? {} : { appliedLimit }) }
}

/** Headers that say how the message is framed or encoded: only the protocol can know them. */
const protocolHeaders = new Set([
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'trailer',
  'transfer-encoding',
])

function headersOf(
  rpc: DescMethod,
  { headers: options }: MethodOption,
  report: Report,
): HeaderField[] {
  const headers: HeaderField[] = []
  const seen = new Set<string>()
  for (const [i, { name, field: fieldName }] of options.entries()) {
    const place = `headers[${i}]`
    if (!token.test(name)) report(`${place}.name: ${JSON.stringify(name)} is no header name`)
    if (protocolHeaders.has(name.toLowerCase()))
      report(`${place}.name: ${name} belongs to the protocol`)
    if (seen.has(name.toLowerCase())) report(`${place}.name: ${name} occurs twice`)
    seen.add(name.toLowerCase())

    const field = fieldOf(rpc.output, fieldName)
    if (field === undefined) {
      report(`${place}.field: ${JSON.stringify(fieldName)} is no field of ${rpc.output.typeName}`)
    } else if (field.fieldKind !== 'scalar' || field.scalar === ScalarType.BYTES) {
      report(`${place}.field: ${fieldName} is not a singular scalar with a text form`)
    } else {
      headers.push({ name, field })
    }
  }
  return headers
}

const integerTypes = new Set<ScalarType>([
  ScalarType.INT32,
  ScalarType.INT64,
  ScalarType.UINT32,
  ScalarType.UINT64,
  ScalarType.SINT32,
  ScalarType.SINT64,
  ScalarType.FIXED32,
  ScalarType.FIXED64,
  ScalarType.SFIXED32,
  ScalarType.SFIXED64,
])

function isInteger(field: DescField): boolean {
  return field.fieldKind === 'scalar' && integerTypes.has(field.scalar)
}

function fieldOf(message: DescMethod['input'], protoName: string): DescField | undefined {
  return message.fields.find((field) => field.name === protoName)
}
