import type { DescMethod } from '@bufbuild/protobuf'
import type { MethodImplSpec } from './connect-internals.ts'
import type { MessageFormats } from './formats.ts'
import type { CallSettings } from './settings.ts'

/** A method with its implementation. */
export interface RpcMethod {
  readonly method: DescMethod
  readonly spec: MethodImplSpec
  readonly settings: CallSettings
  readonly formats: MessageFormats
}
