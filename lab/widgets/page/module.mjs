// An explorer of the lab with its data: `render({ model, el })` of anywidget, and <lab-explorer src=…> on any page.
const explorer = {{ embedded | safe }}.embedded({{ view | safe }}, {{ data | safe }});
export default explorer;
