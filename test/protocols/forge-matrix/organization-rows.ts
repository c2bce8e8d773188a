import type { DescMethod } from '@bufbuild/protobuf'

export const ORGANIZATION_ROWS: readonly { method: DescMethod }[] = []
