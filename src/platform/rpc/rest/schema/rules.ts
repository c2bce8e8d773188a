import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescService,
  hasOption,
  ScalarType,
} from '@bufbuild/protobuf'
import { EmptySchema, isWrapperDesc } from '@bufbuild/protobuf/wkt'
import { http as httpExtension } from '#gen/google/api/annotations_pb.ts'
import type { HttpRule } from '#gen/google/api/http_pb.ts'
import { HttpBodySchema } from '#gen/google/api/httpbody_pb.ts'
import { type Method as MethodOption, method as methodExtension } from '#gen/rest/v1/rest_pb.ts'
import { isProtocolHeader, token } from '../../exchange/headers.ts'
import { fieldNamed, isIntegerField } from '../../text/message-fields.ts'
import { type Binding, type HeaderField, type Paging, rpcName } from './binding.ts'
import { type Dialect, dialectOf, isSuccessStatus } from './dialect.ts'
import { optionOf } from './options.ts'
import { type Grammar, parseTemplate, type Template, TemplateError } from './template.ts'

/**
 * Returns the REST bindings of a method: those of `google.api.http` in the standard grammar, then
 * those of `rest.v1.method` in the extended grammar. Each is followed by its additional
 * bindings. Descriptors may be generated, or of a descriptor set, whose options are unknown fields.
 *
 * A rule with a mistake has no binding. `problems` lists all mistakes, each with the RPC, the rule
 * and the column or field.
 *
 * @param beside services on the same server, one of which may have the dialect of this service.
 */
export function bindingsOf(method: DescMethod, beside: Iterable<DescService> = []): ReadBindings {
  const dialect = dialectOf(method.parent, beside)
  const last = lastRead.get(method)
  if (last?.dialect === dialect) return last.read
  const read = readBindings(method, dialect)
  lastRead.set(method, { dialect, read })
  return read
}

interface ReadBindings {
  readonly bindings: readonly Binding[]
  /** Mistakes in the schema. */
  readonly problems: readonly string[]
}

/**
 * The bindings of each method in the dialect in which they were last read. A descriptor never changes, so
 * that the routes, their documentation and other servers of this process need no second look.
 */
const lastRead = new WeakMap<DescMethod, { dialect: Dialect; read: ReadBindings }>()

function readBindings(method: DescMethod, dialect: Dialect): ReadBindings {
  const problems: string[] = []
  const own = optionOf(method, methodExtension)
  const rules = rulesOf(method, own, problems)
  if (rules.length === 0) return { bindings: [], problems }

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

interface Rule {
  readonly rule: HttpRule
  readonly grammar: Grammar
  /** The path of the option that contains the rule. */
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
    add(optionOf(method, httpExtension), 'standard', `(${httpExtension.typeName})`)
  own.bindings.forEach((rule, i) => {
    add(rule, 'extended', `${methodOptionName}.bindings[${i}]`)
  })
  return rules
}

function readRule(
  rpc: DescMethod,
  rule: HttpRule,
  grammar: Grammar,
  shared: SharedRule,
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
  if (shared.page !== undefined && !hasEntries(rpc, responseField)) {
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
    const field = fieldNamed(rpc.input, fieldPath)
    const isWhole = segments[start]?.kind === 'single' && (multiAt < 0 || start < multiAt)
    return isWhole && field !== undefined && isIntegerField(field) ? [start] : []
  })
}

/** An HTTP method in upper case (RFC 9110 9.1), or `*` for any. */
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
    report(`custom.kind: ${JSON.stringify(kind)} is not an HTTP method in upper case`)
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

/** Message types whose JSON form is text, which a path segment can contain. */
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
    const field = fieldNamed(message, name)
    if (field === undefined) return `${message.typeName} has no field ${name}`
    if (field.fieldKind !== 'message') return `${name} is not a singular message`
    // protobuf-es stores the bare value of a wrapper, so a path names the wrapper only.
    if (isWrapperDesc(field.message)) return `${name} is a wrapper: name it without its value`
    message = field.message
  }
  const field = fieldNamed(message, last ?? '')
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
  if (body !== '*' && fieldNamed(rpc.input, body) === undefined) {
    report(`body: ${JSON.stringify(body)} is not a field of ${rpc.input.typeName}`)
  }
}

function checkResponseBody(
  rpc: DescMethod,
  responseBody: string,
  report: Report,
): DescField | undefined {
  if (responseBody === '') return undefined
  const field = fieldNamed(rpc.output, responseBody)
  if (field === undefined) {
    report(
      `response_body: ${JSON.stringify(responseBody)} is not a field of ${rpc.output.typeName}`,
    )
  }
  return field
}

/** Returns whether the content of responses is a list, or a message that has one. */
function hasEntries(rpc: DescMethod, responseField: DescField | undefined): boolean {
  if (responseField?.fieldKind === 'list') return true
  const content = responseField === undefined ? rpc.output : responseField.message
  return content?.fields.some(({ fieldKind }) => fieldKind === 'list') ?? false
}

/** An upload in chunks is the only REST form with more than one request message. */
function checkStreaming(rpc: DescMethod, body: string, report: Report): void {
  if (rpc.methodKind === 'bidi_streaming') report('a bidirectional stream has no REST form')
  if (rpc.methodKind !== 'client_streaming') return
  const field = fieldNamed(rpc.input, body)
  const content =
    body === '*' ? rpc.input : field?.fieldKind === 'message' ? field.message : undefined
  if (content?.typeName !== HttpBodySchema.typeName) {
    report(`body: a client stream has a REST form only if its body is ${HttpBodySchema.typeName}`)
  }
}

/** Reports a mistake in the schema. */
type Report = (text: string) => void

/** The parts that all bindings of a method share. */
type SharedRule = Pick<
  Binding,
  'dialect' | 'successStatus' | 'isBodiless' | 'singleBody' | 'page' | 'headers'
>

/** Reads and checks the options `rest.v1.method` of a method. */
function sharedOf(
  rpc: DescMethod,
  option: MethodOption,
  dialect: Dialect,
  report: Report,
): SharedRule {
  const { successStatus, otherSuccessStatuses, noContent } = option
  if (successStatus !== 0 && !isSuccessStatus(successStatus)) {
    report(`success_status: ${successStatus} is not a status from 200 to 399`)
  }
  for (const status of otherSuccessStatuses) {
    if (!isSuccessStatus(status))
      report(`other_success_statuses: ${status} is not a status from 200 to 399`)
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
  const field = fieldNamed(rpc.output, singleBody)
  if (field === undefined)
    report(`single_body: ${JSON.stringify(singleBody)} is not a field of ${rpc.output.typeName}`)
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
  const integerField = (message: DescMessage, key: string, name: string) => {
    const field = fieldNamed(message, name)
    if (field === undefined)
      report(`page.${key}: ${JSON.stringify(name)} is not a field of ${message.typeName}`)
    else if (isIntegerField(field)) return field
    else report(`page.${key}: ${name} of ${message.typeName} is not an integer`)
    return undefined
  }
  const total = integerField(rpc.output, 'total', option.total)
  const page = integerField(rpc.input, 'page', option.page)
  const limit = integerField(rpc.input, 'limit', option.limit)
  const hasAppliedLimit = fieldNamed(rpc.output, option.limit) !== undefined
  const appliedLimit = hasAppliedLimit ? integerField(rpc.output, 'limit', option.limit) : undefined
  if (total === undefined || page === undefined || limit === undefined) return undefined
  return { total, page, limit, ...(appliedLimit === undefined ? {} : { appliedLimit }) }
}

function headersOf(
  rpc: DescMethod,
  { headers: options }: MethodOption,
  report: Report,
): HeaderField[] {
  const headers: HeaderField[] = []
  const seen = new Set<string>()
  for (const [i, { name, field: fieldName }] of options.entries()) {
    const place = `headers[${i}]`
    if (!token.test(name)) report(`${place}.name: ${JSON.stringify(name)} is not a header name`)
    if (isProtocolHeader(name.toLowerCase()))
      report(`${place}.name: ${name} belongs to the protocol`)
    if (seen.has(name.toLowerCase())) report(`${place}.name: ${name} occurs twice`)
    seen.add(name.toLowerCase())

    const field = fieldNamed(rpc.output, fieldName)
    if (field === undefined) {
      report(
        `${place}.field: ${JSON.stringify(fieldName)} is not a field of ${rpc.output.typeName}`,
      )
    } else if (field.fieldKind !== 'scalar' || field.scalar === ScalarType.BYTES) {
      report(`${place}.field: ${fieldName} is not a singular scalar with a text form`)
    } else {
      headers.push({ name, field })
    }
  }
  return headers
}
