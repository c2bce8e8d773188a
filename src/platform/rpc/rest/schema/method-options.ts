import { type DescField, type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf'
import { EmptySchema } from '@bufbuild/protobuf/wkt'
import type { Method as MethodOption } from '#gen/rest/v1/rest_pb.ts'
import { isProtocolHeader, token } from '../../exchange/header-list.ts'
import { fieldNamed, isIntegerField } from '../../text/message-fields.ts'
import type { Binding, HeaderField, Paging } from './binding.ts'
import { type Dialect, isSuccessStatus } from './dialect.ts'

/** Reports a mistake in the schema. */
export type Report = (text: string) => void

/** The parts that all bindings of a method share. */
export type SharedRule = Pick<
  Binding,
  'dialect' | 'successStatus' | 'isBodiless' | 'singleBody' | 'page' | 'headers'
>

/** Reads and checks the options `rest.v1.method` of a method. */
export function sharedOf(
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
