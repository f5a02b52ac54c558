// Blocks of content that tools, prompts and resources share.

export const text = (words) => ({ type: 'text', text: words });

export const resource = (uri, mimeType, words) => ({ type: 'resource', resource: { uri, mimeType, text: words } });

/** One red pixel. */
export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==';
export const image = { type: 'image', data: PNG, mimeType: 'image/png' };

/** No samples. */
const WAV = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=';
export const audio = { type: 'audio', data: WAV, mimeType: 'audio/wav' };
