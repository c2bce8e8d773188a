export { CallValues } from './exchange/call.ts'
export { deadlineKept } from './exchange/context.ts'
export { responseCoding, tagMatches, timeoutOf } from './exchange/negotiate.ts'
export type {
  ContentCollector,
  NodeServerRequest,
  NodeServerResponse,
} from './exchange/node.ts'
export { drained, readContent } from './exchange/node.ts'
export { UNEXPECTED_COMPRESSION } from './framed/content.ts'
export type { RestHandler } from './rest/handler.ts'
export { successStatus } from './rest/reply.ts'
export type { Binding, HeaderField, Paging } from './rest/schema/binding.ts'
export type { Dialect } from './rest/schema/dialect.ts'
export { dialectOf, standardDialect } from './rest/schema/dialect.ts'
export { bindingsOf } from './rest/schema/rules.ts'
export type { RouteEntry } from './rest/schema/table.ts'
export { RouteTableError } from './rest/schema/table.ts'
export type { MixedPart, Segment, Template, Variable } from './rest/schema/template.ts'
export type { Rpc, RpcHandlers, RpcOptions } from './server.ts'
export { createRpc } from './server.ts'
export { FieldError } from './text/field-error.ts'
export { compileBodyReader } from './text/json-read.ts'
export { compileWriter } from './text/json-write.ts'
