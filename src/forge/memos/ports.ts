import type { AccountsApp } from '../accounts/ports.ts'
import type { MemoView } from './memo-view.ts'

/** The interfaces that memos need. */
export interface MemosApp extends AccountsApp {
  readonly payloads: MemoPayloads
}

/** Converts memos to the format of the API, for webhooks. */
export interface MemoPayloads {
  /** Returns a memo as proto3 JSON, as its creator sees it. */
  memo(view: MemoView): string
}
