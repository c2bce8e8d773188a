import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'
import { MarkupService } from '#gen/branchline/v1/markup_service_pb.ts'
import type { App } from '../app.ts'
import { type MarkupDraft, renderMarkup } from './markup.ts'
import { callerOf } from './wire/call.ts'
import { defineService } from './wire/define-service.ts'

/** Implements MarkupService. */
function markupService(app: App): ServiceImpl<typeof MarkupService> {
  const render = async (draft: MarkupDraft, context: HandlerContext) => {
    const { responseHeader } = context
    const html = await renderMarkup(app, callerOf(context), draft)
    // Callers supply the text, so a browser must not run the answer as a page of this origin.
    responseHeader.set('x-content-type-options', 'nosniff')
    responseHeader.set('content-security-policy', "default-src 'none'; sandbox")
    return { contentType: 'text/html; charset=utf-8', data: Buffer.from(html) }
  }
  return {
    renderMarkdown: ({ text, mode, context: base }, context) =>
      render({ text, mode, context: base }, context),

    renderMarkdownRaw: ({ text }, context) =>
      render({ text: Buffer.from(text?.data ?? []).toString(), mode: '', context: '' }, context),

    renderMarkup: ({ text, mode, context: base, filePath, branchPath }, context) =>
      render({ text, mode, context: base, filePath, branchPath }, context),
  }
}

export const markup = defineService(MarkupService, markupService)
