import type { Catalogue } from '../language/catalogue.ts'

/** Texts of conversations, in German. */
export const german = {
  Attachments: 'Anhänge',
  'New text of the comment': 'Neuer Text des Kommentars',
  'Save the comment': 'Kommentar speichern',
  'Comment on {place}': 'Kommentar zu {place}',
  'Add to the review': 'Zum Review hinzufügen',
  'Begin a review': 'Review beginnen',
  'Comment at once': 'Sofort kommentieren',
  'Suggest a change': 'Änderung vorschlagen',
  '{signIn} to comment.': '{signIn}, um zu kommentieren.',
  'The conversation is closed to new comments.':
    'Die Diskussion ist für neue Kommentare geschlossen.',
  '{count} proposals.': { one: '{count} Vorschlag.', other: '{count} Vorschläge.' },
  Proposals: 'Vorschläge',
  'none @detail': 'nicht gesetzt',
  'New title': 'Neuer Titel',
  'New description': 'Neue Beschreibung',
  'Save title and description': 'Titel und Beschreibung speichern',
  'Change labels': 'Labels ändern',
  'Change assignees': 'Zugewiesene Personen ändern',
  'Change reviewers': 'Reviewer ändern',
  'Choose labels': 'Labels auswählen',
  'Choose assignees': 'Zugewiesene Personen auswählen',
  'Choose reviewers': 'Reviewer auswählen',
  'Save labels': 'Labels speichern',
  'Save assignees': 'Zugewiesene Personen speichern',
  'Save reviewers': 'Reviewer speichern',
  'There are none.': 'Es gibt keine Einträge.',
  '{who} opened': '{who} hat dies eröffnet',
  '{who} opened {time}': '{who} hat dies {time} eröffnet',
  '{who} commented': '{who} hat kommentiert',
  '{who} commented {time}': '{who} hat {time} kommentiert',
  '{who} approved the changes': '{who} hat die Änderungen genehmigt',
  '{who} approved the changes {time}': '{who} hat {time} die Änderungen genehmigt',
  '{who} approved the changes (dismissed)': '{who} hat die Änderungen genehmigt (verworfen)',
  '{who} approved the changes (dismissed) {time}':
    '{who} hat {time} die Änderungen genehmigt (verworfen)',
  '{who} asked for changes': '{who} hat Änderungen angefordert',
  '{who} asked for changes {time}': '{who} hat {time} Änderungen angefordert',
  '{who} asked for changes (dismissed)': '{who} hat Änderungen angefordert (verworfen)',
  '{who} asked for changes (dismissed) {time}':
    '{who} hat {time} Änderungen angefordert (verworfen)',
  '{who} reviewed': '{who} hat ein Review abgegeben',
  '{who} reviewed {time}': '{who} hat {time} ein Review abgegeben',
  '{who} reviewed (dismissed)': '{who} hat ein Review abgegeben (verworfen)',
  '{who} reviewed (dismissed) {time}': '{who} hat {time} ein Review abgegeben (verworfen)',
  imported: 'importiert',
  edited: 'bearbeitet',
  Quote: 'Zitieren',
  'Quote what {who} wrote': 'Text von {who} zitieren',
  'Dismissed: {reason}': 'Verworfen: {reason}',
  'The comment is deleted for ever.': 'Der Kommentar wird endgültig gelöscht.',
  'Changes before {place}': 'Änderungen vor {place}',
  'Attach files, or paste or drop them into the text':
    'Dateien anhängen, oder in den Text einfügen oder ziehen',
  'The files are being uploaded.': 'Die Dateien werden hochgeladen.',
  'Former texts': 'Frühere Texte',
  'Former text': 'Früherer Text',
  'There are no former texts.': 'Es gibt keine früheren Texte.',
  'Until {who} changed it {time}:': 'Bis zur Änderung durch {who} {time}:',
  Participants: 'Beteiligte',
  'Thumbs up': 'Daumen hoch',
  'Thumbs down': 'Daumen runter',
  Laugh: 'Lachen',
  Hooray: 'Feiern',
  Confused: 'Verwirrt',
  Heart: 'Herz',
  Rocket: 'Rakete',
  Eyes: 'Augen',
  'Reactions to what {who} wrote': 'Reaktionen auf den Text von {who}',
  '{reaction}: {count}': '{reaction}: {count}',
  'React to what {who} wrote': 'Auf den Text von {who} reagieren',
  React: 'Reagieren',
  'line {line}': 'Zeile {line}',
  'lines {from} to {to}': 'Zeilen {from} bis {to}',
  'Change of {lines} of {path} that {who} suggests':
    'Von {who} vorgeschlagene Änderung: {lines} von {path}',
  'Suggestion for {lines}': 'Vorschlag für {lines}',
  Apply: 'Anwenden',
  'Apply the suggestion of {who} for {lines} of {path}':
    'Vorschlag von {who} für {lines} von {path} anwenden',
  'Apply with others': 'Mit anderen anwenden',
  'Apply with others: the suggestion of {who} for {lines} of {path}':
    'Mit anderen anwenden: Vorschlag von {who} für {lines} von {path}',
  'Chosen suggestions': 'Ausgewählte Vorschläge',
  '{count} suggestions chosen.': {
    one: '{count} Vorschlag ausgewählt.',
    other: '{count} Vorschläge ausgewählt.',
  },
  'Apply {count} suggestions in one commit': {
    one: 'Vorschlag anwenden',
    other: '{count} Vorschläge in einem Commit anwenden',
  },
  'Choose none': 'Auswahl aufheben',
  '{count} suggestions applied.': {
    one: '{count} Vorschlag angewendet.',
    other: '{count} Vorschläge angewendet.',
  },
  'Preview of: {label}': 'Vorschau von: {label}',
  'of {label}': 'von: {label}',
  '{resolved} of {count} threads resolved.': {
    one: '{resolved} von {count} Diskussion erledigt.',
    other: '{resolved} von {count} Diskussionen erledigt.',
  },
  pending: 'ausstehend',
  'resolved by {who}': 'erledigt durch {who}',
  outdated: 'veraltet',
  Resolve: 'Als erledigt markieren',
  'Resolve: {place}': 'Als erledigt markieren: {place}',
  'Open again: {place}': 'Wieder öffnen: {place}',
  'Quote: comment on {path} by {who}': 'Zitieren: Kommentar zu {path} von {who}',
  'Edit: comment on {path} by {who}': 'Bearbeiten: Kommentar zu {path} von {who}',
  'the comment on {path} by {who}': 'Kommentar zu {path} von {who}',
  Reply: 'Antworten',
  'Reply: {place}': 'Antworten: {place}',
  'Reply on {place}': 'Antwort zu {place}',
  'Send the reply': 'Antwort senden',
  '{who} unlocked the conversation {time}': '{who} hat {time} die Diskussion entsperrt',
  '{who} removed the mark as a duplicate {time}':
    '{who} hat {time} die Markierung als Duplikat entfernt',
  '{who} scheduled the merge {time}': '{who} hat {time} die Zusammenführung geplant',
  '{who} cancelled the scheduled merge {time}':
    '{who} hat {time} die geplante Zusammenführung abgesagt',
  '{who} moved the issue from another repository {time}':
    '{who} hat {time} das Issue aus einem anderen Repository übertragen',
  '{who} added the label {label} {time}': '{who} hat {time} das Label {label} hinzugefügt',
  '{who} removed the label {label} {time}': '{who} hat {time} das Label {label} entfernt',
  '{who} set the milestone {title} {time}': '{who} hat {time} den Meilenstein {title} gesetzt',
  '{who} removed the milestone {title} {time}': '{who} hat {time} den Meilenstein {title} entfernt',
  '{who} dismissed a review {time}': '{who} hat {time} ein Review verworfen',
  '{who} dismissed a review: {reason} {time}': '{who} hat {time} ein Review verworfen: {reason}',
  '{who} locked the conversation {time}': '{who} hat {time} die Diskussion gesperrt',
  '{who} locked the conversation: {reason} {time}':
    '{who} hat {time} die Diskussion gesperrt: {reason}',
  '{who} could not rebase this pull request {reason} {time}':
    '{who} konnte {time} kein Rebase dieses Pull-Requests ausführen: {reason}',
  '{who} changed the title from “{from}” to “{to}” {time}':
    '{who} hat {time} den Titel von „{from}“ in „{to}“ geändert',
  'none @branch': 'keinem',
  '{who} changed the branch from {from} to {to} {time}':
    '{who} hat {time} den Branch von {from} zu {to} geändert',
  '{who} changed the target branch from {from} to {to} {time}':
    '{who} hat {time} den Ziel-Branch von {from} zu {to} geändert',
  '{who} set the due date {date} {time}': '{who} hat {time} die Fälligkeit {date} gesetzt',
  '{who} changed the due date from {from} to {to} {time}':
    '{who} hat {time} die Fälligkeit von {from} auf {to} geändert',
  '{who} removed the due date {date} {time}': '{who} hat {time} die Fälligkeit {date} entfernt',
  '{who} is no longer assigned {time}': '{who} hat {time} die eigene Zuweisung entfernt',
  '{who} removed the assignee {assignee} {time}':
    '{who} hat {time} die Zuweisung an {assignee} entfernt',
  '{who} assigned {assignee} {time}': '{who} hat dies {time} {assignee} zugewiesen',
  'a team': 'ein Team',
  '{who} asked {reviewer} for a review {time}':
    '{who} hat {time} ein Review angefordert von: {reviewer}',
  '{who} no longer asks {reviewer} for a review {time}':
    '{who} hat {time} die Review-Anfrage zurückgezogen: {reviewer}',
  '{who} asked the team {team} for a review {time}':
    '{who} hat {time} ein Review vom Team {team} angefordert',
  '{who} no longer asks the team {team} for a review {time}':
    '{who} hat {time} die Review-Anfrage an das Team {team} zurückgezogen',
  '{who} closed the issue {time}': '{who} hat {time} das Issue geschlossen',
  '{who} closed the issue as completed {time}':
    '{who} hat {time} das Issue als erledigt geschlossen',
  '{who} closed the issue as not planned {time}':
    '{who} hat {time} das Issue als nicht geplant geschlossen',
  '{who} closed the issue as a duplicate {time}':
    '{who} hat {time} das Issue als Duplikat geschlossen',
  '{who} opened the issue again {time}': '{who} hat {time} das Issue wieder geöffnet',
  '{who} closed the issue by {commit} {time}':
    '{who} hat {time} das Issue durch {commit} geschlossen',
  '{who} closed the issue as completed by {commit} {time}':
    '{who} hat {time} das Issue durch {commit} als erledigt geschlossen',
  '{who} closed the issue as not planned by {commit} {time}':
    '{who} hat {time} das Issue durch {commit} als nicht geplant geschlossen',
  '{who} closed the issue as a duplicate by {commit} {time}':
    '{who} hat {time} das Issue durch {commit} als Duplikat geschlossen',
  '{who} opened the issue again by {commit} {time}':
    '{who} hat {time} das Issue durch {commit} wieder geöffnet',
  '{who} pinned the issue {time}': '{who} hat {time} das Issue angeheftet',
  '{who} unpinned the issue {time}': '{who} hat {time} das Issue gelöst',
  '{who} took the issue on {time}': '{who} hat {time} das Issue übernommen',
  '{who} will close the issue by {issue} {time}':
    '{who} hat {time} angekündigt, das Issue durch {issue} zu schließen',
  '{who} named the issue in {issue} {time}': '{who} hat {time} das Issue in {issue} erwähnt',
  '{who} named the issue in the commit {commit} {time}':
    '{who} hat {time} das Issue im Commit {commit} erwähnt',
  '{who} marked the issue as a duplicate of {issue} {time}':
    '{who} hat {time} das Issue als Duplikat von {issue} markiert',
  '{who} closed the pull request {time}': '{who} hat {time} den Pull-Request geschlossen',
  '{who} opened the pull request again {time}': '{who} hat {time} den Pull-Request wieder geöffnet',
  '{who} closed the pull request by {commit} {time}':
    '{who} hat {time} den Pull-Request durch {commit} geschlossen',
  '{who} opened the pull request again by {commit} {time}':
    '{who} hat {time} den Pull-Request durch {commit} wieder geöffnet',
  '{who} pinned the pull request {time}': '{who} hat {time} den Pull-Request angeheftet',
  '{who} unpinned the pull request {time}': '{who} hat {time} den Pull-Request gelöst',
  '{who} took the pull request on {time}': '{who} hat {time} den Pull-Request übernommen',
  '{who} will close the pull request by {issue} {time}':
    '{who} hat {time} angekündigt, den Pull-Request durch {issue} zu schließen',
  '{who} named the pull request in {issue} {time}':
    '{who} hat {time} den Pull-Request in {issue} erwähnt',
  '{who} named the pull request in the commit {commit} {time}':
    '{who} hat {time} den Pull-Request im Commit {commit} erwähnt',
  '{who} marked the pull request as a duplicate of {issue} {time}':
    '{who} hat {time} den Pull-Request als Duplikat von {issue} markiert',
  '{who} merged the pull request {time}': '{who} hat {time} den Pull-Request zusammengeführt',
  '{who} merged the pull request by {commit} {time}':
    '{who} hat {time} den Pull-Request durch {commit} zusammengeführt',
  '{who} moved the branch to {commit} {time}':
    '{who} hat {time} den Branch auf {commit} verschoben',
  '{who} moved the branch from {old} to {commit} {compare} {time}':
    '{who} hat {time} den Branch von {old} auf {commit} verschoben. {compare}',
  '{who} force-pushed the branch from {old} to {commit} {compare} {time}':
    '{who} hat {time} den Branch von {old} auf {commit} mit Force-Push verschoben. {compare}',
  '{who} made a dependency with {issue} {time}':
    '{who} hat {time} eine Abhängigkeit mit {issue} angelegt',
  '{who} removed the dependency with {issue} {time}':
    '{who} hat {time} die Abhängigkeit mit {issue} entfernt',
  '{who} added the sub-issue {issue} {time}':
    '{who} hat {time} das Unter-Issue {issue} hinzugefügt',
  '{who} removed the sub-issue {issue} {time}': '{who} hat {time} das Unter-Issue {issue} entfernt',
  '{who} made the issue a part of {issue} {time}':
    '{who} hat {time} das Issue zu einem Teil von {issue} gemacht',
  '{who} removed the issue from {issue} {time}': '{who} hat {time} das Issue aus {issue} entfernt',
} satisfies Catalogue
